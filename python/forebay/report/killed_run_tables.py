# SPDX-License-Identifier: Apache-2.0
"""A run that was killed and taken up again, in the terminal."""

from forebay.killed_run import KILLED_AFTER, RANKS, RANKS_LATER, STEPS, Story
from forebay.report import units
from forebay.report.flow_tables import print_kept
from forebay.report.terminal import facts


def print_story(console, story: Story) -> None:
    print_kept(console, story.kept["kept"])
    mesh, verified = story.mesh["mesh"], story.verified
    resumed, alone = story.resumed, story.alone
    rows = [
        ("solver", f"{units.count(mesh['elements'])} tetrahedra, {alone['parts']} parts"),
        ("undisturbed", f"{STEPS} steps by {RANKS} ranks: {alone['fingerprint']}"),
        (
            "killed",
            f"{RANKS} ranks with kill -9, once step {KILLED_AFTER} was on storage "
            f"({story.processes_killed} processes)",
        ),
        (
            "resumed",
            f"from step {resumed['first_step']} by {RANKS_LATER} ranks: {resumed['fingerprint']}",
        ),
        ("forebay verify", verified_text(verified)),
    ]
    console.print(facts("A flow solver, killed and taken up again", rows))
    console.print("  [green]All runs end with the same bits.[/]\n")


def verified_text(verified: dict) -> str:
    steps = verified["steps"] if isinstance(verified["steps"], int) else len(verified["steps"])
    return f"whole: {steps} steps, {units.size(verified['whole_bytes'])} against their checksums"
