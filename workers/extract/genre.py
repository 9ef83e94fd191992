"""What sort of writing a page is: what is furniture on one is the content of another."""

import re
from typing import Literal

Genre = Literal["page", "thread", "manual", "listing"]

_THREAD_SIGNS = (b"DiscussionForumPosting", b"QAPage")  # schema.org's, in JSON-LD or microdata
_FORUMS = re.compile(
    r"discourse|phpbb|vbulletin|xenforo|mybb|invision|ips community|flarum|nodebb|vanilla|simple machines|smf|lemmy"
    r"|askbot|question2answer|esotalk|yabb|fluxbb|punbb|woltlab",
    re.IGNORECASE,
)
_MANUALS = re.compile(
    r"docutils|sphinx|docbook|gtk-doc|gi-docgen|doxygen|mkdocs|mdbook|rustdoc|javadoc|asciidoc|docusaurus|vitepress"
    r"|vuepress|gitbook|makeinfo|texinfo|pod2html|man2html|groff|mandoc|jsdoc|typedoc|antora|yard|rdoc|ex_?doc|scribble"
    r"|qdoc|starlight|mintlify|nextra|readme\.io|latex2html|hevea|tex4ht|dokka|ddoc|haddock|godoc|slate|docfx",
    re.IGNORECASE,
)
_THREAD_ADDRESS = re.compile(
    r"//[^/]*(?<![a-z])(?:forums?|boards?|community|discuss|discussions?|talk|answers)[.-]"
    r"|//.*/(?:forums?|threads?|topics?|discussions?|questions?|talk|boards?|comments)(?=[/.-])"
    r"|//.*(?:show(?:thread|topic)|viewtopic|viewthread|topic|thread)(?:\.php|=)"
)
_MANUAL_ADDRESS = re.compile(
    r"//(?:[^/]*\.)?(?:docs?|developers?|devdocs|manuals?|man|wiki|api|readthedocs|javadoc)[.-]|//[^/]*\.readthedocs\."
    r"|//.*/(?:docs?|manuals?|man\d?|reference|api|apidocs|javadoc|handbook|tutorials?|guides?)/"
)
_ADDRESS_CHARS = 500
_TECHNICAL = (b"<pre", b"<code", b"<tt>")
_TECHNICAL_MIN = 12


def judge_genre(page: bytes, generator: str, url: str) -> Genre:
    """By what the page says of itself, by its address, by how much of it is code."""
    if any(sign in page for sign in _THREAD_SIGNS) or _FORUMS.search(generator):
        return "thread"
    address = url[:_ADDRESS_CHARS].lower()
    if _MANUALS.search(generator) or _MANUAL_ADDRESS.search(address):
        return "manual"
    if _THREAD_ADDRESS.search(address):
        return "thread"
    technical = sum(page.count(tag) for tag in _TECHNICAL)
    return "manual" if technical >= _TECHNICAL_MIN and technical >= page.count(b"<p") // 2 else "page"
