"""Bytes in, Document out."""
