"""Hosts: who gets the messages."""
