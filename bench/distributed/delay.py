#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds each IPv4 packet that the kernel routes to a TUN device for some milliseconds and gives it back to the kernel.

delay.py --device NAME --milliseconds MS --network 10.219.77.0/24 [--queue-bytes 67108864]

namespaces.sh starts it in the namespace of its router, where the device has been made. The kernel then routes the
packet on to its host. Packets keep their order. Those to an address outside --network, and those for which the queue
has no room, are dropped, and the end says how many. Ends with the process that started it, and at SIGTERM.
"""
import argparse
import collections
import fcntl
import ipaddress
import os
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LONGEST_WAIT = 1.0  # seconds, after which the starter is looked for
PACKETS_AT_ONCE = 64


def open_device(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


class Queue:
    """Packets with the times at which they are due, the earliest first."""

    def __init__(self, seconds, network, most_bytes):
        self.seconds, self.most_bytes = seconds, most_bytes
        self.first = int(network.network_address)
        self.mask = int(network.netmask)
        self.packets = collections.deque()
        self.bytes = self.passed = self.dropped = 0

    def is_allowed(self, packet):
        if len(packet) < 20 or packet[0] >> 4 != 4:
            return False
        return int.from_bytes(packet[16:20], "big") & self.mask == self.first

    def take(self, device):
        """Up to PACKETS_AT_ONCE of what has come."""
        for _ in range(PACKETS_AT_ONCE):
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                return
            if not self.is_allowed(packet) or self.bytes + len(packet) > self.most_bytes:
                self.dropped += 1
                continue
            self.packets.append((time.monotonic() + self.seconds, packet))
            self.bytes += len(packet)

    def give(self, device):
        """What is due."""
        now = time.monotonic()
        while self.packets and self.packets[0][0] <= now:
            _, packet = self.packets.popleft()
            self.bytes -= len(packet)
            try:
                os.write(device, packet)
                self.passed += 1
            except OSError:  # no room at the receiver, or no route: a network drops it
                self.dropped += 1

    def wait(self):
        """Seconds until the next one is due."""
        return min(max(self.packets[0][0] - time.monotonic(), 0.0), LONGEST_WAIT) if self.packets else LONGEST_WAIT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", required=True)
    parser.add_argument("--milliseconds", type=float, required=True)
    parser.add_argument("--network", type=ipaddress.IPv4Network, required=True)
    parser.add_argument("--queue-bytes", type=int, default=64 << 20)
    flags = parser.parse_args()
    if not 0 <= flags.milliseconds <= 1000:
        parser.error(f"--milliseconds is {flags.milliseconds}; 0 to 1000 are allowed")
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    starter = os.getppid()
    try:
        device = open_device(flags.device)
    except OSError as error:
        sys.exit(f"delay.py: the device {flags.device} cannot be opened: {error}")
    queue = Queue(flags.milliseconds / 1000, flags.network, flags.queue_bytes)
    while not ended and os.getppid() == starter:
        ready, _, _ = select.select([device], [], [], queue.wait())
        if ready:
            queue.take(device)
        queue.give(device)
    if queue.dropped:
        print(f"delay.py: {queue.passed} packets passed on, {queue.dropped} dropped", file=sys.stderr)


if __name__ == "__main__":
    main()
