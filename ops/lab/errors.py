"""What the private internet says when it cannot be had."""


class LabUnavailable(Exception):
    """This machine will not give us a network of our own; the message says why and what would help."""

    exit_status = 69  # EX_UNAVAILABLE of sysexits.h


class ZoneWrong(Exception):
    """A zone file that does not say what it means; the message names the entry."""

    exit_status = 78  # EX_CONFIG of sysexits.h
