"""`heedful sign` and `heedful verify --signers`: who vouches for a run or an audit."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from heedful import runs, signatures
from tests.auditing.test_results import a_found_audit

WITHOUT = shutil.which("ssh-keygen") is None
needs_openssh = pytest.mark.skipif(WITHOUT, reason="ssh-keygen is not installed")


def a_key(name: str) -> Path:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return Path(name)


def signers_of(**keys: Path) -> Path:
    lines = [f"{name}@example.org {Path(f'{key}.pub').read_text()}" for name, key in keys.items()]
    Path("signers").write_text("".join(lines))
    return Path("signers")


@pytest.fixture
def audited() -> Path:
    found = a_found_audit()
    found.save("audit")
    found.to_html(Path("audit", runs.REPORT))
    return Path("audit")


@needs_openssh
def test_a_signed_audit_names_its_signer_and_any_change_ends_that(heedful, audited):
    key = a_key("ann")
    signers = signers_of(ann=key)
    signed = heedful("sign", audited, "--key", key)
    assert signed.code == 0, signed.err
    assert signed.out == "audit: audit, signed in audit.json.sig\n"
    found = heedful("verify", audited, "--signers", signers)
    assert found.code == 0, found.err
    assert found.out == "audit: audit, 3 files as written, signed by ann@example.org\n"

    stored = json.loads((audited / runs.AUDIT).read_text())
    from heedful.runs import RunFolder

    sealed = list(stored["sha256"])
    RunFolder(audited).write_sealed(runs.AUDIT, {**stored, "verdict": "may"}, sealed)
    assert heedful("verify", audited).code == 0  # a seal is no signature
    forged = heedful("verify", audited, "--signers", signers)
    assert forged.code == 1
    assert "its signature by ann@example.org is not valid" in forged.out


@needs_openssh
def test_a_signature_of_a_stranger_counts_for_nothing(heedful, audited):
    ann, eve = a_key("ann"), a_key("eve")
    assert heedful("sign", audited, "--key", eve).code == 0
    found = heedful("verify", audited, "--signers", signers_of(ann=ann), "--json")
    assert found.code == 1
    (one,) = json.loads(found.out)["verified"]
    assert one["is_unchanged"]
    assert one["signed_by"] == ""
    assert one["unsigned"].startswith("nobody in signers signed it")


@needs_openssh
def test_what_is_not_signed_is_told_when_signers_are_given(heedful, audited):
    found = heedful("verify", audited, "--signers", signers_of(ann=a_key("ann")))
    assert found.code == 1
    assert found.out == (
        "audit: audit, 3 files as written; it is not signed: audit.json.sig is missing\n"
    )


@needs_openssh
def test_what_was_changed_is_not_signed(heedful, audited):
    (audited / runs.REPORT).write_text("mine")
    refused = heedful("sign", audited, "--key", a_key("ann"))
    assert refused.code == 2
    assert "audit is not as it was written, so it is not signed" in refused.err
    assert not (audited / "audit.json.sig").exists()


@needs_openssh
@pytest.mark.parametrize("key", ["audit/audit.json", "signers"])
def test_a_file_that_is_no_key_is_refused_in_a_sentence(heedful, audited, key):
    Path("signers").write_text("")
    Path(key).chmod(0o600)
    refused = heedful("sign", audited, "--key", key)
    assert refused.code == 2
    assert f"could not be signed with {key}" in refused.err


def test_a_key_and_signers_that_are_not_there_are_refused(heedful, audited):
    no_key = heedful("sign", audited, "--key", "no-such")
    assert no_key.code == 2
    assert "no key at no-such. `ssh-keygen -t ed25519 -f no-such` makes one." in no_key.err
    no_signers = heedful("verify", audited, "--signers", "no-such")
    assert no_signers.code == 2
    assert "Expected allowed signers, one in a line" in no_signers.err


def test_without_openssh_signing_ends_in_a_sentence(heedful, audited, monkeypatch):
    monkeypatch.setattr(signatures, "PROGRAM", "no-such-program")
    Path("key").write_text("")
    refused = heedful("sign", audited, "--key", "key")
    assert refused.code == 3
    assert "signatures need the program no-such-program of OpenSSH" in refused.err
