"""Ranks on one machine as if each had a machine of its own: network namespaces that a bridge joins, every link limited by tc.

Needs root, iproute2 and Open MPI. mpirun starts a daemon on each "host" through an agent that enters the namespace; each needs a host name of
its own, else Open MPI takes all ranks for neighbours and shares memory.
"""
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def missing(delay=0):
    """What this machine lacks for a cluster, with links that wait if there is a `delay`; empty if nothing."""
    if os.geteuid() != 0:
        return "root"
    lacking = [program for program in ("ip", "tc", "mpirun", "taskset", "unshare") if not shutil.which(program)]
    if lacking:
        return ", ".join(lacking)
    name = f"dlc{os.getpid()}p"
    made = subprocess.run(["ip", "link", "add", name, "type", "bridge"], capture_output=True)
    if made.returncode != 0:
        return "the right to make network interfaces"
    run("ip", "link", "del", name)
    if delay and subprocess.run(["ip", "tuntap", "add", "dev", name, "mode", "tap"], capture_output=True).returncode != 0:
        return "/dev/net/tun for a delay"
    if delay:
        run("ip", "tuntap", "del", "dev", name, "mode", "tap")
    return ""


def run(*command):
    subprocess.run(command, check=True)


class Cluster:
    """`nodes` namespaces, one core each; `rate` as tc writes it (1gbit), `delay` of what a node sends in microseconds. With `between` the second
    half of them has a bridge of its own, and all that one half sends to the other passes one link of that rate."""

    def __init__(self, nodes, rate, delay=0, between=None):
        self.nodes = nodes
        self.bridge, self.second = f"dlc{os.getpid()}b", f"dlc{os.getpid()}c" if between else None
        self.folder = tempfile.mkdtemp()
        self.delaying = None
        # Of its own: several clusters may stand at a time.
        self.subnet = f"10.{64 + os.getpid() // 256 % 64}.{os.getpid() % 256}"
        try:
            run("ip", "link", "add", self.bridge, "type", "bridge")
            # mpirun reaches the daemons on the nodes over an address of the bridge.
            run("ip", "addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
            if between:
                self.divide(between)
            for node in range(nodes):
                run("ip", "netns", "add", self.name(node))
            if delay:
                self.connect_late(delay)
            else:
                for node in range(nodes):
                    run("ip", "link", "add", self.end(node), "type", "veth", "peer", "name", self.name(node))
            for node in range(nodes):
                self.add(node, rate)
        except BaseException:
            self.close()
            raise
        self.agent = os.path.join(self.folder, "enter")
        with open(self.agent, "w") as file:
            file.write("#!/bin/bash\nnode=$((${1##*.} - 1)); shift\n"
                       f"exec ip netns exec {self.name('$node')} taskset -c $((node % $(nproc))) unshare -u "
                       "bash -c \"hostname node$node; $*\"\n")
        os.chmod(self.agent, os.stat(self.agent).st_mode | stat.S_IXUSR)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def name(self, node):
        return f"dlc{os.getpid()}n{node}"

    def end(self, node):
        return f"dlc{os.getpid()}v{node}"

    def address(self, node):
        return f"{self.subnet}.{node + 1}"

    def divide(self, rate):
        """A second bridge, and the link to it: limited both ways, as add() does of what a node sends."""
        run("ip", "link", "add", self.second, "type", "bridge")
        run("ip", "link", "set", self.second, "up")
        ends = [each + "l" for each in (self.bridge, self.second)]
        run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for end, bridge in zip(ends, (self.bridge, self.second)):
            run("ip", "link", "set", end, "mtu", "9000", "master", bridge, "up")
            run("tc", "qdisc", "add", "dev", end, "root", "tbf", "rate", rate, "burst", "16kb", "latency", "100ms")

    def connect_late(self, delay):
        """Pairs of interfaces as of veth, whose frames delay.py carries."""
        pairs = [each for node in range(self.nodes) for each in (self.name(node), self.end(node))]
        for each in pairs:
            run("ip", "tuntap", "add", "dev", each, "mode", "tap")
        delaying = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "delay.py"), str(delay), *pairs]
        self.delaying = subprocess.Popen(delaying, stdout=subprocess.PIPE, text=True)
        if not self.delaying.stdout.readline():
            sys.exit("cluster: delay.py does not serve")

    def add(self, node, rate):
        name, end = self.name(node), self.end(node)
        inside = ["ip", "netns", "exec", name]
        run("ip", "link", "set", name, "netns", name, "name", "eth0")
        run("ip", "link", "set", end, "master", self.second if self.second and node >= self.nodes // 2 else self.bridge, "up")
        run(*inside, "ip", "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        # Packets as large as in a cluster, and a sender that heeds lost ones: Linux from 6.17 on drops what a busy receiver has no room for, and with
        # packets of 1500 bytes and BBR a connection then stood still for seconds.
        run(*inside, "ip", "link", "set", "eth0", "mtu", "9000", "up")
        run("ip", "link", "set", end, "mtu", "9000")
        run(*inside, "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")
        run(*inside, "ip", "link", "set", "lo", "up")
        # What a node sends. A bucket of tokens lets so many bytes pass at once: it is small, else small sums look as if bytes cost nothing.
        # Larger packets are cut for it.
        run(*inside, "tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "tbf", "rate", rate, "burst", "16kb", "latency", "100ms")
        # What it receives from several at once; from one alone it comes no faster than that sends, and does not wait twice.
        run("tc", "qdisc", "add", "dev", end, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "100ms")

    def mpirun(self, *command):
        """The standard output of a command that runs on each node."""
        hosts = ",".join(f"{self.address(node)}:1" for node in range(self.nodes))
        network = f"{self.subnet}.0/24"
        line = ["mpirun", "--quiet", "--host", hosts, "-np", str(self.nodes), "--bind-to", "none", "--mca", "plm_rsh_agent", self.agent,
                "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "oob_tcp_if_include", network, "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", network, *command]
        return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **AS_ROOT}).stdout

    def each(self, make):
        """Runs make(node), a command, on each node; the outputs."""
        started = [subprocess.Popen(["ip", "netns", "exec", self.name(node), "taskset", "-c", str(node % os.cpu_count()), *make(node)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for node in range(self.nodes)]
        outputs = [process.communicate() for process in started]
        for process, (_, errors) in zip(started, outputs):
            if process.returncode:
                sys.exit(f"{shlex.join(process.args)}: exit status {process.returncode}\n{errors}")
        return [output for output, _ in outputs]

    def close(self):
        if self.delaying:
            self.delaying.kill()
            self.delaying.wait()
        for node in range(self.nodes):
            # What is left where a run was broken off, as mpirun's daemons.
            left = subprocess.run(["ip", "netns", "pids", self.name(node)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            for process in left.split():
                subprocess.run(["kill", "-9", process], stderr=subprocess.DEVNULL)
            # A link goes at once, what is in a namespace some time after it.
            subprocess.run(["ip", "link", "del", self.end(node)], stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "netns", "del", self.name(node)], stderr=subprocess.DEVNULL)
        for bridge in filter(None, (self.bridge, self.second)):
            subprocess.run(["ip", "link", "del", bridge + "l"], stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "link", "del", bridge], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    # What is missing, if anything is.
    sys.exit(missing() or 0)
