"""A hub of one's own on this machine: what huggingface_hub asks to read, make and fill a repository of models."""

import base64
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

TOKEN = "hf_of_the_tests"


@dataclass
class Repository:
    """The files of each branch, and whether it is private."""

    private: bool = False
    branches: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})

    def files(self, revision: str) -> dict[str, bytes] | None:
        by_commit = {self.commit(branch): files for branch, files in self.branches.items()}
        return self.branches.get(revision, by_commit.get(revision))

    def commit(self, branch: str) -> str:
        """Return a name for the state of a branch, as git has one."""
        digest = hashlib.sha1(branch.encode())
        for name, content in sorted(self.branches[branch].items()):
            digest.update(name.encode() + content)
        return digest.hexdigest()


class LoopbackHub:
    """The server; `asked` has (method, path) of every request, `repositories` what it holds."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def holds(self, name: str, folder: Path) -> None:
        """Put a folder into a repository."""
        files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        self.repositories[name] = Repository(branches={"main": files})

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: LoopbackHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *parts: object) -> None: ...

    def do_HEAD(self) -> None:
        self._read()

    def do_GET(self) -> None:
        self._read()

    def _answer(self, content: object, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        self._answer({"error": code}, status, X_Error_Code=code, X_Error_Message=code)

    def _read(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append((self.command, path))
        pattern = (
            r"/api/models/(?P<name>.+?)/(?P<what>revision|tree)/(?P<revision>[^/]+)|/api/models/(?P<other>[^/]+/[^/]+)"
        )
        about = re.fullmatch(pattern, path)
        file = re.fullmatch(r"/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)", path)
        found = about or file
        name = found and (found["name"] or found["other"])
        repository = self.hub.repositories.get(name or "")
        if found is None or repository is None:
            return self._refuse(404, "RepoNotFound")
        revision = "main" if about and about["other"] else found["revision"]
        files = repository.files(revision)
        if files is None:
            return self._refuse(404, "RevisionNotFound")
        branch = next(b for b, content in repository.branches.items() if content is files)
        commit = repository.commit(branch)
        if file is not None:
            if file["file"] not in files:
                return self._refuse(404, "EntryNotFound")
            content = files[file["file"]]
            tag = f'"{hashlib.sha256(content).hexdigest()}"'
            return self._answer(content, X_Repo_Commit=commit, ETag=tag)
        if about and about["what"] == "tree":
            sizes = {file: len(content) for file, content in files.items()}
            blobs = {file: hashlib.sha1(content).hexdigest() for file, content in files.items()}
            return self._answer([{"type": "file", "path": f, "size": sizes[f], "oid": blobs[f]} for f in sorted(files)])
        siblings = [{"rfilename": name} for name in files]
        return self._answer({"id": name, "modelId": name, "sha": commit, "siblings": siblings, "tags": []})

    def do_PUT(self) -> None:
        self.hub.large[self.path.rsplit("/", 1)[1]] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({})

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(("POST", path))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._refuse(403, "Forbidden")
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            if name in self.hub.repositories:
                return self._answer({"url": f"{self.hub.address}/{name}"}, 409)
            self.hub.repositories[name] = Repository(
                private=asked.get("visibility") == "private" or bool(asked.get("private"))
            )
            return self._answer({"url": f"{self.hub.address}/{name}", "name": name})
        if path == "/api/validate-yaml":
            return self._answer({"warnings": [], "errors": []})
        if path.endswith(".git/info/lfs/objects/batch"):
            objects = [
                {**o, "actions": {"upload": {"href": f"{self.hub.address}/large/{o['oid']}"}}}
                for o in json.loads(body)["objects"]
            ]
            return self._answer({"transfer": "basic", "objects": objects})
        found = re.fullmatch(r"/api/models/(.+?)/(preupload|commit|branch)/([^/]+)", path)
        repository = self.hub.repositories.get(found[1] if found else "")
        if found is None or repository is None:
            return self._refuse(404, "RepoNotFound")
        if found[2] == "branch":
            if found[3] in repository.branches:
                return self._refuse(409, "BranchExists")
            repository.branches[found[3]] = dict(repository.branches["main"])
            return self._answer({})
        if found[2] == "preupload":
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(body)["files"]
            ]
            return self._answer({"files": modes})
        files = repository.branches[found[3]]
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            if line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
        oid = repository.commit(found[3])
        return self._answer(
            {"commitUrl": f"{self.hub.address}/{found[1]}/commit/{oid}", "commitOid": oid, "pullRequestUrl": None}
        )
