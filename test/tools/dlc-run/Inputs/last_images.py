"""Compares the one picture in a file of events, a sheet of some images of 4 x 4 pixels, with the last ones of a larger sheet.

usage: last_images.py SHEET COUNT FOLDER
"""
import glob
import math
import sys

from read_png import read_png


def images(rows, count, side=4, gap=2):
    columns = math.ceil(math.sqrt(count))
    places = [divmod(i, columns) for i in range(count)]
    corners = [(gap + row * (side + gap), gap + column * (side + gap)) for row, column in places]
    return [[rows[top + y][left:left + side] for y in range(side)] for top, left in corners]


sheet, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
(path,) = glob.glob(folder + "/events.out.tfevents.*")
events = open(path, "rb").read()
begin = events.index(b"\x89PNG")
with open(path + ".png", "wb") as file:
    file.write(events[begin:events.index(b"IEND", begin) + 8])
whole = read_png(sheet)
assert images(read_png(path + ".png"), count) == images(whole, 3 * count)[-count:]
