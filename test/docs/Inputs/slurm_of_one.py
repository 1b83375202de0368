"""A Slurm of one machine, for as long as a `with` lasts: munged, slurmctld and slurmd of Debian's packages, with all that they keep in a scratch
folder and on free ports of the loopback. Nothing of the machine's own Slurm is read or touched, and no process is left.
"""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Missing(Exception):
    """Why there is no Slurm, in a line."""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Daemon:
    """One that stays in the foreground. What it says is read until it says `ready`, and kept."""

    def __init__(self, command, ready, environment):
        def end_with_parent():
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        self.name, self.ready, self.said, self.known = os.path.basename(command[0]), ready, [], threading.Event()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env=environment, preexec_fn=end_with_parent)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.known.wait()
        if not any(ready in line for line in self.said):
            self.stop()
            raise Missing(f"{self.name} does not start: {self.said[-1].strip() if self.said else 'it says nothing'}")

    def read(self):
        for line in self.process.stdout:
            self.said.append(line)
            if self.ready in line:
                self.known.set()
        self.known.set()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()


class Slurm:
    """`unpacked` is a folder with the packages' usr; where it is not there, the machine's own are taken."""

    def __init__(self, unpacked, processors):
        self.usr = os.path.abspath(f"{unpacked}/usr") if os.path.isdir(unpacked) else "/usr"
        self.daemons, self.processors = [], processors
        libraries = f"{self.usr}/lib/{os.uname().machine}-linux-gnu"
        self.plugins = f"{libraries}/slurm-wlm"
        self.environment = {**os.environ, "PATH": f"{self.usr}/bin:{os.environ['PATH']}"}
        if self.usr != "/usr":
            self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [libraries, self.plugins, os.environ.get("LD_LIBRARY_PATH")]))

    def program(self, name):
        """Debian has slurmd as a link to slurmd-wlm, which comes with the installation alone."""
        for path in (f"{self.usr}/{folder}/{each}" for folder in ("sbin", "bin") for each in (f"{name}-wlm", name)):
            if os.access(path, os.X_OK):
                return path
        raise Missing(f"no {name}; scripts/install-deps.sh --slurm unpacks Debian's munge, slurmctld, slurmd and slurm-client")

    def __enter__(self):
        programs = {name: self.program(name) for name in ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "srun")}
        # What the daemons leave when they end becomes this process's.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.folder = tempfile.mkdtemp(prefix="dlc-slurm.")
        try:
            self.start(programs)
        except BaseException:
            self.close()
            raise
        return self

    def start(self, programs):
        folder = self.folder
        os.chmod(folder, 0o711)
        for name in ("state", "spool"):
            os.mkdir(f"{folder}/{name}")
        with open(os.open(f"{folder}/key", os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(128))
        with open(f"{folder}/slurm.conf", "w") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname(), ports=free_ports(2), user=pwd.getpwuid(os.getuid()).pw_name, folder=folder,
                                            plugins=self.plugins, processors=self.processors))
        self.environment["SLURM_CONF"] = f"{folder}/slurm.conf"
        munged = [f"--{name}={folder}/{file}" for name, file in
                  (("key-file", "key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("seed-file", "seed"), ("log-file", "munged.log"))]
        for command, ready in (([programs["munged"], "-F", "-f", *munged], "work thread"),
                               ([programs["slurmctld"], "-D"], "Running as primary controller"),
                               ([programs["slurmd"], "-D", "-d", programs["slurmstepd"]], "CPUs=")):
            self.daemons.append(Daemon(command, ready, self.environment))
        # They may start and still run nothing.
        try:
            tried = self.run("srun", "true", timeout=60)
        except subprocess.TimeoutExpired:
            raise Missing("it starts, and runs no job") from None
        if tried.returncode != 0:
            raise Missing(f"it starts, and runs no job: {tried.stdout.strip()}")

    def said(self):
        """The last lines of each daemon, for who has to look why a job did not run."""
        return "".join(f"{daemon.name}: {line}" for daemon in self.daemons for line in daemon.said[-20:])

    def run(self, *command, **options):
        return subprocess.run(command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.stop()
        children = f"/proc/self/task/{os.getpid()}/children"
        while left := open(children).read().split():
            for process in left:
                os.kill(int(process), signal.SIGKILL)
                os.waitpid(int(process), 0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *ignored):
        self.run("scancel", "--user", str(os.getuid()))
        self.close()
