"""Which extractor made a text: told in every receipt, so that a hash can be explained years later."""

from lxml import etree

# Counted up whenever the same bytes may give another text; `test_golden` holds it to the golden corpus.
EXTRACTOR = "outrider/2"

_LIBXML = ".".join(str(number) for number in etree.LIBXML_VERSION)


def extractor() -> str:
    """The extractor's version with that of its parser."""
    return f"{EXTRACTOR} libxml2/{_LIBXML}"
