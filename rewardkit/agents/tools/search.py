"""Tool `search`, which finds documents for queries in a local BM25 index or with a retrieval service.

When the tool is loaded, bm25s builds an index over a JSONL or Parquet file of documents. If `index` names a
folder, the index is saved in the folder and reused the next time. Like Search-R1's retriever, a service
responds to `POST {"queries", "topk", "return_scores"}` with
`{"result": [[{"document": {"contents"}, "score"}]]}`.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declare import tool
from rewardkit.agents.tools.index import Document, Index
from rewardkit.agents.tools.results import called
from rewardkit.errors import ConfigError
from rewardkit.http_addresses import Address, address_of
from rewardkit.http_retry import RETRIED, retry_after_s
from rewardkit.reward_options import check_timeout

MAX_QUERIES = 8
_MAX_QUERY_CHARS = 1_000
_ATTEMPTS = 4
_PAUSE_S = 0.5
_TITLES = ("title", "name")
_opening = threading.Lock()


@functools.cache
def open_index(path: str, index: str | None, text_field: str | None) -> Index:
    """Return the index for a file of documents. All episodes in this process share the index."""
    return Index(Path(path), Path(index) if index else None, text_field)


@tool(name="search")
class Search:
    """Tool that searches a collection of documents.

    The arguments of the constructor are the tool's `config`.

    Args:
        path: File of documents in JSONL or Parquet format.
        index: Folder in which the index is saved. It is created if it does not exist.
        text_field: Column that contains the text. If None, the first of `contents`, `text`, `content` and
            `passage` that exists is used.
        url: Address of a retrieval service, as an alternative to `path`.
        top_k: Number of documents for each query.
        timeout_s: Time limit in seconds for one request to the service.
    """

    def __init__(
        self,
        path: str | None = None,
        index: str | None = None,
        text_field: str | None = None,
        url: str | None = None,
        top_k: int = 3,
        timeout_s: float = 30.0,
    ) -> None:
        if (path is None) == (url is None):
            raise ConfigError(
                "search: set exactly one of path (a jsonl or parquet file of documents) and url (a retrieval "
                "service)"
            )
        if not isinstance(top_k, int) or not 1 <= top_k <= 100:
            raise ConfigError(f"search: top_k is {top_k!r}; expected a whole number from 1 to 100")
        self._url: Address | None = None
        if url is not None:
            try:
                self._url = address_of(url)
            except ValueError as error:
                raise ConfigError(f"search: {error}") from None
        self._top_k = top_k
        self._timeout_s = check_timeout(timeout_s)
        self._index: Index | None = None
        if path is not None:
            with _opening:  # one thread builds the index while the others wait
                self._index = open_index(path, index, text_field)

    async def execute(self, query_list: list[str]) -> str:
        """Search for information and return the documents that fit best.

        Args:
            query_list: What to search for, one or more queries.
        """
        queries = [query for query in query_list if query.strip()]
        if not queries:
            raise BadCall("there is no query")
        if len(queries) > MAX_QUERIES or any(len(query) > _MAX_QUERY_CHARS for query in queries):
            raise BadCall(
                f"expected at most {MAX_QUERIES} queries with at most {_MAX_QUERY_CHARS} characters each"
            )
        if self._url is not None:
            found = await _ask(self._url, queries, self._top_k, self._timeout_s)
        else:
            assert self._index is not None
            found = await called(self._index.search, queries, self._top_k)
        return "\n---\n".join(map(_shown, found))


def _shown(documents: Sequence[Document]) -> str:
    if not documents:
        return "No documents found."
    return "\n".join(
        f"Doc {place}{f' (Title: {document.title})' if document.title else ''} {document.text}"
        for place, document in enumerate(documents, 1)
    )


async def _ask(url: Address, queries: list[str], top_k: int, timeout_s: float) -> list[list[Document]]:
    body = {"queries": queries, "topk": top_k, "return_scores": True}
    headers = {"Authorization": url.authorization} if url.authorization else {}
    problem = ""
    after_s = 0.0
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(max(after_s, _PAUSE_S * 2 ** (attempt - 1)))
        try:
            timeout = aiohttp.ClientTimeout(total=timeout_s)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.post(url.request_url(), json=body, headers=headers, allow_redirects=False) as answer,
            ):
                content = await answer.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            problem = f"cannot be reached: {type(error).__name__}: {error}"
            after_s = 0.0
            continue
        if answer.status == 200:
            return _documents(url, content, len(queries))
        problem = f"answered {answer.status}"
        after_s = retry_after_s(answer.headers)
        if answer.status not in RETRIED:
            break
    raise RuntimeError(f"the retrieval service {url} {url.unsaid(problem)}")


def _documents(url: Address, content: bytes, queries: int) -> list[list[Document]]:
    try:
        results: Any = msgspec.json.decode(content)["result"]
        if len(results) != queries:
            raise ValueError("the number of results differs from the number of queries")
        return [[_document(one) for one in result] for result in results]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RuntimeError(
            f"cannot read the answer from the retrieval service {url}: {error}; "
            'expected {"result": [[{"document": {"contents": ...}}]]} with one list for each query'
        ) from None


def _document(found: Mapping[str, Any]) -> Document:
    document = found.get("document", found)
    text = str(document["contents"] if "contents" in document else document["text"])
    title = next((str(document[name]) for name in _TITLES if document.get(name)), "")
    first, line, rest = text.partition("\n")
    if not title and line and first.startswith('"') and first.endswith('"'):
        title = first.strip('"')  # Search-R1's Wikipedia dump puts the title in quotes on the first line
        text = rest
    return Document(title, text)
