"""All campaigns: what is done to heedful, each in a process and a folder of its own."""

from collections.abc import Callable, Iterator
from functools import partial

from tools.harden import files, folders, hostile, interruptions, machine, requests
from tools.harden.bench import Bench, Found, commands

Campaign = Callable[[Bench], Iterator[Found]]


def campaigns() -> dict[str, Campaign]:
    """By name, those that take longest first, so that two at a time end together."""
    interrupted: dict[str, Callable[[Bench, str], Iterator[Found]]] = {
        "kills at moments": interruptions.kills_at_moments,
        "kills at random": interruptions.kills_at_random,
        "power cuts": interruptions.power_cuts,
        "failing disks": machine.failing_disks,
        "limited files": machine.limited_files,
    }
    found: dict[str, Campaign] = {}
    for what, campaign in interrupted.items():
        for name in reversed(commands()):
            found[f"{what}: {name}"] = partial(_named, campaign, name)
    for name in interruptions.WRITERS:
        found[f"two writers: {name}"] = partial(_named, interruptions.two_writers, name)
    for part in range(2):
        found[f"hostile texts {part}"] = partial(hostile.hostile_texts, part=part, parts=2)
    return found | {
        "two sweeps": interruptions.two_sweeps,
        "command lines": hostile.command_lines,
        "mutated sweeps": folders.mutated_sweeps,
        "mutated runs": folders.mutated_runs,
        "mutated audits": folders.mutated_audits,
        "mutated models": folders.mutated_models,
        "mutated checkpoints": folders.mutated_checkpoints,
        "low memory": machine.low_memory,
        "no permission": machine.no_permission,
        "data files": files.data_files,
        "settings files": files.settings_files,
        "attributions": files.attributions_files,
        "malformed requests": requests.malformed_requests,
    }


def _named(
    campaign: Callable[[Bench, str], Iterator[Found]], name: str, bench: Bench
) -> Iterator[Found]:
    return campaign(bench, name)


# Of each attempt, in the table: the words by which its campaign's name is told.
KILLS = "kill -9"
MUTATIONS = ("with other bytes", "sealed again", "files of", "command lines", "malformed")
