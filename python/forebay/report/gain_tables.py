# SPDX-License-Identifier: Apache-2.0
"""Results of the gain model: the gain of overlap, what limits it, and what would increase it."""

from forebay.report import units
from forebay.report.terminal import facts, table

PERCENT = 100
# Times that differ by less count as equal.
EQUAL_TIME_SHARE = 0.01


def print_gain(console, document: dict) -> None:
    console.print(facts("Gain of writing behind", _facts_of(document)))
    console.print(_table_by_buffers(document))
    for sentence in advice_of(document):
        console.print(f"[cyan]•[/] {sentence}", soft_wrap=True)
    if document["jitter"]:
        console.print(_jitter_line(document["jitter"]), style="dim", soft_wrap=True)


def _question(document: dict) -> str:
    return (
        f"{units.count(document['count'])} buffers, each computed in "
        f"{units.duration(document['compute_s'])} and written in "
        f"{units.duration(document['write_s'])}"
    )


def _facts_of(document: dict) -> list[tuple[str, str]]:
    requested = document["requested"]
    return [
        ("the program", _question(document)),
        ("synchronous", _time(requested["synchronous_s"])),
        (
            "overlapped",
            f"{_time(requested['total_s'])} with {buffers_text(requested['buffers'])} and "
            f"{_devices(document['devices'])}",
        ),
        (
            "gain",
            f"[bold]{_gain(requested['gain'])}[/]; the bound is {units.number(document['bound'])}",
        ),
        ("computing", _share(requested, "computing_s")),
        ("waiting for a buffer", _share(requested, "waiting_s")),
        ("writing at the end", _share(requested, "draining_s")),
        ("device writes" if document["devices"] == 1 else "devices write", _busy(document)),
    ]


def _share(answer: dict, key: str) -> str:
    """A part of the time, in seconds and in percent."""
    part, whole = answer[key]["mean"], answer["total_s"]["mean"]
    return f"{units.duration(part)}, {_percent(part / whole)} of the time"


def _percent(share: float) -> str:
    return f"{PERCENT * share:.1f} %"


def _busy(document: dict) -> str:
    requested = document["requested"]
    writing_s = requested["synchronous_s"]["mean"] - requested["computing_s"]["mean"]
    share = writing_s / document["devices"] / requested["total_s"]["mean"]
    each = " each" if document["devices"] > 1 else ""
    return f"{_percent(share)} of the time{each}"


def _table_by_buffers(document: dict):
    columns = ("buffers", "time", "gain", "computing", "waiting", "at the end")
    result = table("By buffers", *columns, right=(0, 1, 2, 3, 4, 5))
    requested = document["requested"]["buffers"]
    for row in document["by_buffers"]:
        cells = [
            "unlimited" if row["buffers"] is None else units.count(row["buffers"]),
            units.duration(row["total_s"]["mean"]),
            _gain(row["gain"]),
            *(
                _percent(row[key]["mean"] / row["total_s"]["mean"])
                for key in ("computing_s", "waiting_s", "draining_s")
            ),
        ]
        result.add_row(*cells, style="bold" if row["buffers"] == requested else None)
    return result


def advice_of(document: dict) -> list[str]:
    """What limits the gain, and what would increase it; most important first."""
    return [_limit_of(document), _buffers_advice(document), _devices_advice(document)]


def _limit_of(document: dict) -> str:
    compute_s, share_s = document["compute_s"], document["write_s"] / document["devices"]
    what = "writing" if document["devices"] == 1 else "writing on all devices"
    if compute_s == 0 or share_s == 0:
        return "There is nothing to overlap: one of the times is 0."
    if abs(compute_s - share_s) <= EQUAL_TIME_SHARE * share_s:
        return f"Computing and {what} take equally long: the gain of overlap is largest here."
    if compute_s > share_s:
        return f"Computing takes {units.number(compute_s / share_s)} times as long as {what}."
    return (
        f"{what[0].upper()}{what[1:]} takes {units.number(share_s / compute_s)} times as long as "
        "computing."
    )


def _buffers_advice(document: dict) -> str:
    best, requested = document["best"], document["requested"]
    text = buffers_text(best["buffers"])
    number = requested["buffers"]
    if number is not None and number < best["buffers"]:
        gains = f"{_gain(best['gain'])} instead of {_gain(requested['gain'])}"
        return f"Best: {text}, gain {gains}; more gain less than 1 %."
    if number == best["buffers"]:
        return f"Best: {text}, as requested; more gain less than 1 %."
    return f"Best: {text}, fewer than requested, and within 1 % of the gain of any number."


def _devices_advice(document: dict) -> str:
    best = document["best"]
    if best["devices"] == document["devices"]:
        return "More devices gain less than 1 %."
    gain = f"gain {_gain(best['devices_gain'])} with {buffers_text(best['devices_buffers'])}"
    devices = _devices(best["devices"])
    if best["devices"] < document["devices"]:
        return f"More devices gain less than 1 %, and {devices} would suffice: {gain}."
    return f"With {devices}: {gain}; more devices gain less than 1 %."


def _jitter_line(jitter: dict) -> str:
    varies = [
        f"{what} times vary by {PERCENT * jitter[key]:g} %"
        for key, what in (("write", "write"), ("compute", "computing"))
        if jitter[key] > 0
    ]
    return (
        f"{' and '.join(varies)} (standard deviation / mean, log-normal): means of "
        f"{units.count(jitter['runs'])} runs of seed {jitter['seed']}; in parentheses, the "
        "5 % and 95 % quantiles of the runs."
    )


def buffers_text(buffers: int | None) -> str:
    if buffers is None:
        return "unlimited buffers"
    return "1 buffer" if buffers == 1 else f"{units.count(buffers)} buffers"


def _devices(devices: int) -> str:
    return "1 device" if devices == 1 else f"{units.count(devices)} devices"


def _time(spread: dict) -> str:
    return _with_range(spread, units.duration)


def _gain(spread: dict) -> str:
    return _with_range(spread, units.number)


def _with_range(spread: dict, text) -> str:
    """The mean, and in parentheses both ends if they print differently."""
    low, mean, high = (text(spread[key]) for key in ("low", "mean", "high"))
    return mean if low == high else f"{mean} ({low} … {high})"
