"""The version, where nothing heavy has to be imported to read it."""

__version__ = "0.1.0"
