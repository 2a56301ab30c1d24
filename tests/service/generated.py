"""A client in Python, generated from `/openapi.json`, against the service that the document is of.

    pip install openapi-python-client && python3 tests/service/generated.py target/release/veridiff
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from service import Service, sample, split


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    with Service(sys.argv[1], "--detector", "none") as service:
        status, document = split(service.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        assert status == 200
        (folder / "openapi.json").write_bytes(document)
        generate = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(folder / "openapi.json")]
        subprocess.run([*generate, "--output-path", str(folder / "client"), "--meta", "none"], check=True)

        from client import Client
        from client.api.default import check, live, models, score
        from client.models import SampleBody, SampleList, ScoreList

        client = Client(base_url="http://{}:{}".format(*service.address))
        one = check.sync(client=client, body=SampleBody.from_dict(sample("a")))
        status, expected = service.post("/v1/check", sample("a"))
        assert status == 200 and one.to_dict() == json.loads(expected), one
        many = check.sync(client=client, body=SampleList.from_dict({"samples": [sample("a"), sample("b")]}))
        assert [finding.id for finding in many.findings] == ["a", "b"]
        rows = score.sync(client=client, body=ScoreList.from_dict({"samples": [sample("a")], "features": ["form"]}))
        assert rows.rows[0]["id"] == "a", rows
        refused = check.sync_detailed(client=client, body=SampleBody.from_dict({**sample("a"), "diff": ""}))
        assert refused.status_code == 400 and refused.parsed.error.code == "sample", refused
        assert live.sync(client=client).status == "live" and models.sync(client=client).data == []
    print("the generated client checks, scores, and reads refusals")


if __name__ == "__main__":
    main()
