"""Checks a trace against the plan and the summary. usage: check_trace.py TRACE PLAN LOG

Each lane's events nest and stand in order; each run of an entry has every launch and collective of its records, in their order; a
collective of several ranks lies on all of them at one time; the summary's figures follow from the stamps."""
import collections
import json
import sys

trace = json.load(open(sys.argv[1]))["traceEvents"]
plan = json.load(open(sys.argv[2]))
summary = json.loads(open(sys.argv[3]).read().splitlines()[-1])["trace"]
NANOSECOND = 1e-3
end = lambda event: event["ts"] + event["dur"]
inside = lambda inner, outer: inner["ts"] >= outer["ts"] - NANOSECOND and end(inner) <= end(outer) + NANOSECOND

names = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace if event["name"] == "thread_name"}
ranks = [event["pid"] for event in trace if event["name"] == "process_name"]
assert ranks == list(range(len(summary["ranks"]))), ranks
events = [event for event in trace if event["ph"] == "X"]
assert len(events) + len(names) + len(ranks) == len(trace)
lanes = collections.defaultdict(list)
for event in events:
    assert event["dur"] >= 0 and event["ts"] >= 0, event
    lanes[event["pid"], event["tid"]].append(event)
assert lanes.keys() <= names.keys()

for lane in lanes.values():
    stack = []
    for before, event in zip([lane[0]] + lane, lane):
        assert before["ts"] <= event["ts"], (before, event)
        while stack and end(stack[-1]) <= event["ts"] + NANOSECOND:
            stack.pop()
        assert not stack or inside(event, stack[-1]), (stack[-1], event)
        stack.append(event)

entries = {entry["name"]: entry for entry in plan["entries"]}
records, first = {}, 0
for entry in plan["entries"]:
    records[entry["name"]] = plan["records"][first:first + entry["records"]]
    first += entry["records"]
runs = collections.Counter()
steps = set()
# When the last rank came to a collective, which its name and step tell from others.
arrivals = {}
for event in events:
    if event["cat"] == "collective":
        key = event["name"], event["args"]["step"]
        arrivals[key] = max(arrivals.get(key, 0), event["ts"])
for rank in ranks:
    own = [event for event in events if event["pid"] == rank]
    training = [event for event in own if names[rank, event["tid"]] == "training"]
    for run in (event for event in training if event["name"] in entries):
        runs[run["name"]] += 1
        kernels = [event for event in training if event["cat"] == "kernel" and inside(event, run)]
        wanted = [(row["name"], row["kernel"]) for row in records[run["name"]] if row["kind"] == "launch"]
        assert [(event["name"], event["args"]["kernel"]) for event in kernels] == wanted, (kernels, wanted)
        collectives = [event["name"] for event in own if event["cat"] == "collective" and inside(event, run)]
        wanted = [row["name"] for row in records[run["name"]] if row["kind"] == "collective"]
        assert collectives == (wanted if len(ranks) > 1 or "simt" in plan["targets"] else []), (collectives, wanted)
    counted = sorted({event["args"]["step"] for event in training if event["name"].startswith("step ")})
    steps.add(tuple(counted))
    counted = counted[1:] if len(counted) > 1 else counted
    chosen = [event for event in own if event["args"].get("step") in counted]
    busy = [event for event in chosen if event["cat"] == "collective"]
    kernels = [event for event in chosen if event["cat"] == "kernel"]
    stamps = sorted({stamp for event in busy + kernels for stamp in (event["ts"], end(event))})
    arrived = lambda event: arrivals[event["name"], event["args"]["step"]]
    stamps = sorted({*stamps, *map(arrived, busy)})
    communication = exposed = waiting = 0
    for left, right in zip(stamps, stamps[1:]):
        during = lambda event: event["ts"] <= left and right <= end(event)
        under_way = [event for event in busy if during(event)]
        idle = 0 if any(map(during, kernels)) else right - left
        if any(arrived(event) <= left for event in under_way):
            communication += right - left
            exposed += idle
        elif under_way:
            waiting += idle
    figures = {"communication_ms": communication, "exposed_ms": exposed, "waiting_ms": waiting,
               "step_ms": sum(event["dur"] for event in chosen if event["name"].startswith("step ")),
               "backward_ms": sum(event["dur"] for event in kernels if "/backward" in event["name"])}
    assert summary["ranks"][rank]["steps"] == len(counted)
    for name, microseconds in figures.items():
        # The stamps of the file are rounded to nanoseconds.
        assert abs(summary["ranks"][rank][name] - microseconds * 1e-3 / len(counted)) < 1e-3, (rank, name, summary["ranks"][rank], figures)

# A sum begins on no rank behind its end on another, as far as clocks are known.
error = 2 * max(one["clock_error_us"] for one in summary["ranks"])
for event in events:
    if event["cat"] == "collective":
        alike = [other for other in events if other["cat"] == "collective" and other["name"] == event["name"] and other["args"]["step"] == event["args"]["step"]]
        assert len(alike) == len(ranks) and all(other["ts"] <= end(event) + error for other in alike), alike

assert len(steps) == 1 and counted
evaluations = f", {runs['evaluate']} of evaluate" if runs["evaluate"] else ""
print(f"{len(ranks)} ranks, {len(steps.pop())} steps, {runs['train_step']} runs of train_step{evaluations}")
