"""Reads the events in a folder, checking all checksums, and compares them with a log and a checkpoint of the run: read_events.py FOLDER
LOG CHECKPOINT [SHEET]. Its one picture is that of the file SHEET. What is read here, field by field, is compared with what TensorBoard
reads where that is installed."""
import glob
import json
import struct
import sys

import numpy as np

TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ TABLE[(rest ^ byte) & 0xFF]
    rest ^= 0xFFFFFFFF
    return ((rest >> 15 | rest << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at : at + 8]), f"{path}: byte {at}"
        record = data[at + 12 : at + 12 + length]
        assert len(record) == length and struct.unpack_from("<I", data, at + 12 + length)[0] == masked(record), f"{path}: byte {at}"
        at += 16 + length
        yield record


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields(data):
    """Pairs of a field's number and its value, in their order."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[key & 7]
            value, at = struct.unpack_from(form, data, at)[0], at + size
        found.append((key >> 3, value))
    return found


def main():
    folder, log, checkpoint, *sheet = sys.argv[1:]
    (path,) = glob.glob(folder + "/events.out.tfevents.*")
    scalars, histograms, texts, pictures = {}, {}, {}, {}
    for record in records(path):
        event = dict(fields(record))
        assert event[1] > 1.5e9, "seconds since 1970"
        if 3 in event:
            print(event[3].decode())
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            tag, step = value[1].decode(), event.get(2, 0)
            if 2 in value:
                scalars[tag, step] = value[2]
            elif 4 in value:
                pictures[tag, step] = dict(fields(value[4]))
            elif 5 in value:
                histograms[tag, step] = dict(fields(value[5]))
            else:
                tensor, plugin = dict(fields(value[8])), dict(fields(dict(fields(value[9]))[1]))
                assert tensor[1] == 7 and plugin[1] == b"text"
                texts[tag] = tensor[8].decode()
    for tag, text in texts.items():
        print(f"{tag}: {text}".replace("\n", " "))
    for (tag, step), histogram in histograms.items():
        values = weights(checkpoint)[tag.removeprefix("weights/")].astype("f8")
        limits, counts = (np.frombuffer(histogram[field], "<f8") for field in (6, 7))
        assert len(limits) == len(counts) and (np.diff(limits) > 0).all() and limits[-1] == values.max()
        assert histogram[1] == values.min() and histogram[2] == values.max() and histogram[3] == values.size
        np.testing.assert_allclose([histogram[4], histogram[5]], [values.sum(), (values**2).sum()], rtol=1e-12)
        np.testing.assert_array_equal(np.cumsum(counts), [(values <= limit).sum() for limit in limits])
        print(f"{tag} at {step}: {values.size} elements")
    assert len(pictures) == len(sheet)
    for (tag, step), picture in pictures.items():
        png = open(sheet[0], "rb").read()
        assert picture[4] == png, "another picture"
        assert struct.unpack_from(">II", png, 16) == (picture[2], picture[1]) and {0: 1, 2: 3}[png[25]] == picture[3]
        print(f"{tag} at {step}: {picture[2]} x {picture[1]}")
    expected = {}
    for line in map(json.loads, open(log)):
        group = line.pop("report")
        step = line.pop("step")
        line.pop("epoch")
        if group == "epoch":
            line.pop("learning_rates", None)
        for name, value in line.items():
            if isinstance(value, dict):
                expected.update({(f"{name}/{inner}", step): number for inner, number in value.items()})
            elif isinstance(value, (int, float)):
                expected["test/" + name[5:] if name.startswith("test_") else f"{group}/{name}", step] = value
    assert scalars.keys() == expected.keys(), scalars.keys() ^ expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(scalars[key], value, rtol=1e-6, err_msg=str(key))
    print(f"{len(scalars)} numbers as in the log")
    compare(folder, scalars, histograms, texts, pictures)


def weights(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    return {name: np.frombuffer(data[8 + size :][slice(*each["data_offsets"])], "<f4")
            for name, each in header.items() if each.get("dtype") == "F32"}


def compare(folder, scalars, histograms, texts, pictures):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        print("left out: no tensorboard")
        return
    board = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0, "images": 0}).Reload()
    assert {(tag, event.step): event.value for tag in board.Tags()["scalars"] for event in board.Scalars(tag)} == scalars
    read = {(tag, event.step): event.histogram_value for tag in board.Tags()["histograms"] for event in board.Histograms(tag)}
    assert read.keys() == histograms.keys()
    for key, value in read.items():
        assert (value.min, value.max, value.num) == tuple(histograms[key][field] for field in (1, 2, 3))
        np.testing.assert_array_equal(value.bucket, np.frombuffer(histograms[key][7], "<f8"))
    assert {tag: board.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in board.Tags()["tensors"]} == texts
    shown = {(tag, event.step): (event.height, event.width, event.encoded_image_string)
             for tag in board.Tags()["images"] for event in board.Images(tag)}
    assert shown == {key: (picture[1], picture[2], picture[4]) for key, picture in pictures.items()}
    print("TensorBoard reads the same")


main()
