"""What a person at a terminal sees; what a program reads in a pipe is written by the commands."""
