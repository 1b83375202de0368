"""Checks a simulated schedule against the plan. usage: check_simulation.py PLAN TRACE LOG SECONDS

SECONDS is what a sum of `bytes` bytes takes. Walks the plan's records with the kernels' times from the trace: each begins where its stream,
its events and those before it on the processor or channel let it."""
import collections
import json
import sys

plan, trace = (json.load(open(path)) for path in sys.argv[1:3])
summary = json.loads(open(sys.argv[3]).read().splitlines()[-1])
seconds = lambda bytes: eval(sys.argv[4], {"bytes": bytes})
entry, first = next((entry, sum(before["records"] for before in plan["entries"][:i])) for i, entry in enumerate(plan["entries"]) if entry["kind"] == "train")
spans = {event["args"]["record"]: event for event in trace["traceEvents"] if event.get("cat") in ("kernel", "collective")}
streams, events, channel, processor = collections.Counter(), {}, 0.0, 0.0
sums = kernels = 0
busy = []
# The file's times are rounded to nanoseconds, of which up to two hundred add up.
close = lambda a, b: abs(a - b) < 0.2
for number in range(first, first + entry["records"]):
    record = plan["records"][number]
    stream = record["stream"]
    if record["kind"] == "record_event":
        events[record["event"]] = streams[stream]
    elif record["kind"] == "wait_event":
        streams[stream] = max(streams[stream], events[record["event"]])
    else:
        span = spans.pop(number)
        collective = record["kind"] == "collective"
        begin = max(streams[stream], channel if collective else processor)
        assert close(span["ts"], begin), (record, span, begin)
        if collective:
            sums += 1
            assert close(span["dur"], seconds(span["args"]["bytes"]) * 1e6), (span, seconds(span["args"]["bytes"]))
            channel = begin + span["dur"]
            busy.append((begin, channel))
        else:
            kernels += 1
            processor = begin + span["dur"]
        streams[stream] = begin + span["dur"]
assert not spans
assert close((summary["step_ms"] - summary["metrics_ms"]) * 1e3, max(streams.values()))
assert close(summary["communication_ms"] * 1e3, sum(end - begin for begin, end in busy))
print(f"{sums} sums and {kernels} kernels stand where the plan lets them")
