"""Kills a conversion as soon as its folder is there. usage: kill_conversion.py FOLDER DLC-RUN"""
import os
import subprocess
import sys
import time

folder, tool = sys.argv[1:]
os.makedirs(folder)
subprocess.run(["make-digits", f"{folder}/d", "--train", "20000", "--test", "10"], check=True, stdout=subprocess.DEVNULL)
with subprocess.Popen([tool, "data", f"idx:{folder}/d", "--convert", f"tar:{folder}/packed"], stdout=subprocess.DEVNULL) as conversion:
    while not os.path.exists(f"{folder}/packed.unfinished"):
        assert conversion.poll() is None, "it has ended before it was killed"
        time.sleep(0.001)
    conversion.kill()
    assert conversion.wait() < 0, "it has ended before it was killed"
print("killed")
