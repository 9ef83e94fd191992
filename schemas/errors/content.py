"""The text: what extraction could not make, or made differently."""

from schemas.errors.tree import Failed


class ExtractionFailed(Failed):
    """The page could not be turned into text within its bounds."""

    code = "extraction_failed"
    hint = "The page is malformed or hostile. Use another source."


class EmptySource(Failed):
    """The body holds no readable text."""

    code = "empty_source"
    hint = "The page holds no text (it may need JavaScript). Use another source."


class ChangedContent(Failed):
    """A continuation's text differs from the text that was being read."""

    code = "changed_content"
    hint = "The page changed since the first part: start again at offset 0 without expectedHash."
