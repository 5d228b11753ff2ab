# SPDX-License-Identifier: Apache-2.0
"""A run that was killed and resumed, in the terminal."""

from forebay.report import units
from forebay.report.flow_tables import print_checkpoints
from forebay.report.terminal import facts
from forebay.restart_scenario import KILL_AFTER_STEP, RANKS, RESTART_RANKS, STEPS, RestartResults


def print_restart(console, results: RestartResults) -> None:
    print_checkpoints(console, results.checkpointed["checkpoint_report"])
    mesh, verified = results.mesh["mesh"], results.verified
    resumed, uninterrupted = results.resumed, results.uninterrupted
    rows = [
        ("solver", f"{units.count(mesh['elements'])} tetrahedra, {uninterrupted['parts']} parts"),
        ("uninterrupted", f"{STEPS} steps by {RANKS} ranks: {uninterrupted['fingerprint']}"),
        (
            "killed",
            f"{RANKS} ranks with kill -9, once step {KILL_AFTER_STEP} was on storage "
            f"({results.processes_killed} processes)",
        ),
        (
            "resumed",
            f"from step {resumed['first_step']} by {RESTART_RANKS} ranks: {resumed['fingerprint']}",
        ),
        ("forebay verify", verified_text(verified)),
    ]
    console.print(facts("A flow solver, killed and resumed", rows))
    console.print("  [green]All runs end with the same bits.[/]\n")


def verified_text(verified: dict) -> str:
    steps = verified["steps"] if isinstance(verified["steps"], int) else len(verified["steps"])
    return f"intact: {steps} steps, checksums of {units.size(verified['intact_bytes'])}"
