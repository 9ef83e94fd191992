"""What an element's tag, role, class and id say it is: page furniture, perhaps furniture, or content."""

import re
from functools import lru_cache
from typing import TypeAlias

from workers.extract.genre import Genre

Attributes: TypeAlias = dict[str, str]

# How an element is marked. Nonzero is left out, unless the weighing finds that the mark is wrong.
KEPT = 0
FURNITURE = 1  # by tag or role
NAMED = 2  # by a class or an id that only furniture has
DOUBTED = 3  # by a class that furniture often has
CONSENT = 5  # a cookie wall: never content, however long it is beside a short page
INLINE_JUNK = 4  # a permalink sign, a line number
PRUNED = 9  # by its links, after the weighing

# How much an element claims to be the content.
NO_CLAIM = 0
MAIN = 2
ARTICLE = 3
ARTICLE_BODY = 4


def tags(names: str) -> frozenset[str]:
    """The tag names of a line."""
    return frozenset(names.split())


INLINE = tags(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math nobr q rp rt ruby s "
    "samp small span strike strong sub sup time tt u var wbr"
)
# Inline elements that are written as what they hold.
PLAIN_INLINE = INLINE - tags("a b br code em i img kbd math q samp strong tt")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FURNITURE_TAGS = tags("nav footer aside menu figcaption")
_FURNITURE_ROLES = tags(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar tooltip"
)
NO_CONTAINER = tags("p pre table ul ol li blockquote tr tbody dl dd td") | HEADINGS.keys()


def _words(*groups: str) -> re.Pattern[str]:
    """A pattern of whole words; `-?` in a word stands for an optional hyphen."""
    return re.compile(r"(?<![a-z])(?:" + "|".join(word for group in groups for word in group.split()) + r")(?![a-z])")


def _any(*patterns: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile("|".join(pattern.pattern for pattern in patterns))


_NAVIGATING = _words(
    r"nav navbar\w* navigation",
    r"nav-?(?:bar|list|items?|links?|menus?|wrap\w*|container|box|primary|main|top|bottom|left|right|block|header|panel)",
    r"nav-?(?:section|tabs?|toggle|drawer|inner|content|area|column|trail) menu submenu sub-?nav footer breadcrumbs?",
    r"crumbs? pagination pager",
    r"pagenav prev-?next masthead skip-?links? jump-?link share-?(?:bar|tools|links|buttons?|this|icons?|widget)",
    r"social-?(?:media|share|links|icons?|bar|buttons?|tools) cookie\w* consent gdpr\w* print-?header",
    r"onetrust\w* ot-(?:sdk|pc)\w* cybotcookie\w* usercentrics\w*",
    r"didomi\w* truste(?:-\w+)? qc-cmp\w* cmpbox\w* cc-window",
    r"headerlink anchorjs\w* edit-?(?:link|page|section) editsection mw-editsection noprint toctree\w*",
    r"sr-only screen-reader\w* visually-?hidden linenos linenodiv lineno line-?numbers? clipboard navbox",
    r"copy-?(?:btn|button|code) search-?(?:box|form|bar) adsense",
    r"ad-?(?:slot|unit|container|wrapper|wrap|banner|box|block)",
)
_PROMOTING = _words(
    r"share sharing sharebar social related sponsor(?:ed)? outbrain\w* taboola\w*",
    r"related-?(?:posts?|articles?|content|links|stories|news|items|topics) recommend(?:ed|ations?)? ",
    r"newsletter\w* subscribe\w* subscription\w* sign-?up promo(?:tion|ted|box)? advert(?:isement|ising|s)? ads?",
    r"popup modal overlay upsell donate donation",
    r"author-?(?:box|bio|info|card) byline tagline tag-?(?:list|cloud|links) post-?(?:meta|tags|footer|navigation)",
    r"entry-?(?:meta|footer|utility) article-?(?:meta|footer|tags) pub-?date publish(?:ed)?-?date dateline",
    r"(?:article|story|post)-?(?:share|related|author|date|info|tools|actions|header-?meta)",
    r"login signin search(?![\w-]) tooltip dropdown dropdown-menu reactions?",
    r"more-?(?:stories|news|articles|from) read-?(?:next|also) also-?(?:read|like) trending see-?also up-?next",
    r"next-?up most-?(?:read|viewed|popular) callout-?(?:link|related) inline-?(?:related|promo|newsletter)",
    r"gallery\w* slideshow\w* lightbox\w* zergnet\w* revcontent\w* viafoura\w* spotim\w* coral\w*",
    r"livefyre\w* reflist references refbegin cross-?sell\w* feedback read-?time",
)
_COMMENTS = _words(r"comments? comment-?(?:list|area|section|thread|wrap\w*|container|count|link)s? disqus\w*")
_REPLYING = _words(r"respond comment-?(?:form|respond)s? reply-?(?:form|box) quick-?reply")
_OF_POSTERS = _words(
    r"signature\w* sig post-?signature post-?profile user-?(?:info|details|stats|title|panel) author-?pane\w*"
)
# A manual has sections on logins, searches and subscriptions; on other pages the words are those of its surroundings.
_OF_GENRE: dict[Genre, re.Pattern[str]] = {
    "page": _any(_PROMOTING, _COMMENTS, _REPLYING),
    "thread": _any(_PROMOTING, _OF_POSTERS, _REPLYING),
    "manual": _any(_COMMENTS, _REPLYING),
    "listing": _any(_PROMOTING, _COMMENTS, _REPLYING),
}
_CONSENT = _words(
    r"onetrust\w* ot-sdk\w* cybotcookie\w* usercentrics\w* didomi\w* qc-cmp\w* cmpbox\w* cc-window",
    r"gdpr-?(?:banner|consent|popup)",
    r"cookie-?(?:consent|banner|notice|law|bar|popup|modal|wall|dialog|overlay)\w*",
)
# Hidden on a small screen and shown on a large one is shown.
_UNSEEN = re.compile(
    r"^(?!.*(?<![\w-])(?:sm|md|lg|xl|2xl):(?:block|flex|grid|inline|table|contents|visible))"
    r".*(?<![\w:-])(?:hidden|hide|invisible)(?![\w-])"
)
_DOUBTED = _words(
    r"carousel\w* recirc\w* paywall read-?more sidebar\w* side-?bar side-?nav toc table-?of-?contents widget\w* banner",
    r"meta metadata menu\w* tags? bio caption credit copyright toolbar teasers? popular latest rating rate hatnote",
    r"infobox header foot date timestamp author",
)
_NAMED_ID = re.compile(
    r"(?:nav\w*|(?:main-?|top-?|site-?|primary-?)?(?:nav|navigation|menu|navbar)|(?:site-?|page-?|main-?)?footer"
    r"|sidebar\w*|left-?(?:nav|sidebar|column|menu)|right-?(?:sidebar|column|rail)|(?:left|right)nav"
    r"|respond|breadcrumbs?|share\w{0,7}|social\w{0,7}|related|newsletter\w*|cookie\w*"
    r"|related-?(?:posts|articles|stories|content)|toc|table-of-contents-?\w*|search-?(?:form|box|bar)|login\w*|banner"
    r"|masthead|mw-(?:navigation|panel|head)|p-\w+|catlinks|sitesub|jump-to-nav|onetrust[\w-]*|cybotcookie\w*)\Z"
)
_COMMENTS_ID = re.compile(r"(?:comments?|comment-?\w+|disqus\w*)\Z")
_CONTENT = _words(
    r"article-?(?:body|content|text|copy|main|inner|detail\w*) story-?(?:body|content|text)",
    r"blog-?(?:post|content|entry)",
    r"post-?(?:body|content|text|entry) entry-?content main-?content page-?content content-?(?:body|main|article)",
    r"body-?(?:text|copy|content) articlebody maincontent postcontent entry markdown-body rst-content documentation",
    r"docs-?content doc-?content prose td-post-content mw-parser-output mw-content-text js_content",
)
# WordPress and its shops write a post's tags and categories into its class: they say what it is about, not what it is.
_POST_CLASS = re.compile(r"(?<![\w-])(?:post-\d+|type-[a-z]+|hentry)(?![\w-])")
_TAXONOMY = re.compile(r"(?<![\w-])(?:tag|category|product_cat|product_tag|pa|post_format|status|format|series)-[\w-]+")
_LINE_CLASSES = frozenset({"line", "code-line", "view-line", "hljs-line", "token-line", "cl"})
_LINE_NUMBER_WORDS = ("lineno", "line-number", "gutter")
_NAME_CHARS = 1_000  # a class attribute longer than this is cut: nobody names things so


SPEAKING_TAGS = _FURNITURE_TAGS | {"article", "main", "form"}  # the others say nothing without attributes


def says_nothing(attrs: Attributes, *, in_pre: bool) -> bool:
    """Whether an inline element's attributes make no difference to what is read of it."""
    if in_pre and "data-line" in attrs:
        return False
    classes = attrs.get("class", "")
    if not classes:
        return True
    return _in_pre(classes) == (KEPT, False) if in_pre else _of_inline(classes[:_NAME_CHARS].lower()) == KEPT


@lru_cache(8_192)
def _in_pre(classes: str) -> tuple[int, bool]:
    """The mark of a piece of code, and whether it is one line."""
    classes = classes[:_NAME_CHARS].lower()
    number = any(word in classes for word in _LINE_NUMBER_WORDS)
    return INLINE_JUNK if number else KEPT, not _LINE_CLASSES.isdisjoint(classes.split())


def is_code_line(tag: str, attrs: Attributes) -> bool:
    """Whether an inline element in a block of code is one of its lines."""
    return bool(attrs) and tag in INLINE and ("data-line" in attrs or _in_pre(attrs.get("class", ""))[1])


def word_of(attrs: Attributes, genre: Genre) -> str:
    """The word in an element's class or id that marks it, for whoever asks why; empty where none does."""
    classes = attrs.get("class", "")[:_NAME_CHARS].lower()
    patterns = (_NAVIGATING, _OF_GENRE[genre], _UNSEEN, _DOUBTED)
    found = next((match[0] for pattern in patterns if (match := pattern.search(classes))), "")
    return found or (attrs.get("id", "")[:40] if _of_id(attrs.get("id", "")[:_NAME_CHARS].lower(), genre)[0] else "")


def judge(tag: str, attrs: Attributes, genre: Genre = "page", *, in_pre: bool) -> tuple[str, int, int]:
    """The class names (lower case), the mark and the claim of an element."""
    mark = FURNITURE if tag in _FURNITURE_TAGS and (tag != "figcaption" or genre != "manual") else KEPT
    worth = {"article": ARTICLE, "main": MAIN}.get(tag, NO_CLAIM)
    if not attrs:
        return "", mark, worth
    classes = attrs.get("class", "")[:_NAME_CHARS].lower()
    if in_pre:
        return classes, _in_pre(classes)[0] or mark, worth
    if tag in INLINE:
        return classes, _of_inline(classes) if classes else mark, worth
    if tag in {"body", "html"}:
        return classes, KEPT, NO_CLAIM
    return classes, *_of_block(tag, attrs, (classes, mark, worth), genre)


def _of_block(tag: str, attrs: Attributes, said: tuple[str, int, int], genre: Genre) -> tuple[int, int]:
    classes, mark, worth = said
    role = attrs.get("role", "")
    if role in _FURNITURE_ROLES:
        return FURNITURE, worth
    if role == "main":
        worth = MAIN
    class_mark, class_worth = _of_class(classes, genre) if classes else (KEPT, NO_CLAIM)
    name = attrs.get("id", "")
    id_mark, id_worth = _of_id(name[:_NAME_CHARS].lower(), genre) if name else (KEPT, NO_CLAIM)
    if attrs.get("itemprop") == "articleBody" and worth < ARTICLE:
        worth = ARTICLE_BODY
    worth = worth or class_worth or id_worth
    if tag in NO_CONTAINER:
        worth = NO_CLAIM
    if CONSENT in {id_mark, class_mark}:
        return CONSENT, NO_CLAIM
    if worth < MAIN and tag not in HEADINGS:
        mark = id_mark or class_mark or mark
    return mark, worth


@lru_cache(8_192)
def _of_inline(classes: str) -> int:
    """The mark of an inline element: a highlighter's "comment" is code, not what readers wrote under a page."""
    return INLINE_JUNK if _NAVIGATING.search(classes) or _UNSEEN.search(classes) or _PROMOTING.search(classes) else KEPT


@lru_cache(8_192)
def _of_class(classes: str, genre: Genre) -> tuple[int, int]:
    if _POST_CLASS.search(classes):
        classes = _TAXONOMY.sub("", classes)
    worth = ARTICLE if _CONTENT.search(classes) else NO_CLAIM
    if _NAVIGATING.search(classes) or _UNSEEN.search(classes) or _OF_GENRE[genre].search(classes):
        return CONSENT if _CONSENT.search(classes) else NAMED, worth
    return DOUBTED if _DOUBTED.search(classes) else KEPT, worth


@lru_cache(8_192)
def _of_id(name: str, genre: Genre) -> tuple[int, int]:
    if _CONSENT.search(name):
        return CONSENT, NO_CLAIM
    named = _NAMED_ID.match(name) or (genre != "thread" and _COMMENTS_ID.match(name))
    return NAMED if named else KEPT, ARTICLE if _CONTENT.search(name) else NO_CLAIM
