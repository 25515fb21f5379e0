"""Faults made on purpose: disks that fail, machines that lose power, processes that are killed."""
