#!/usr/bin/python3 -IS
"""Asks on a network card who has an IPv4 address (ARP, RFC 826): arp-probe CARD ADDRESS SENDER. Prints the hardware address of the first
that answers, nothing if nobody does within some seconds. With 0.0.0.0 as sender it is a probe of RFC 5227, which changes no table."""
# SPDX-License-Identifier: GPL-3.0-or-later
import socket
import struct
import sys
import time

ETHERTYPE_ARP, ETHERNET, IPV4 = 0x0806, 1, 0x0800
REQUEST, REPLY = 1, 2
FORM = "!HHBBH6s4s6s4s"
BROADCAST, NOBODY = b"\xff" * 6, b"\0" * 6
PROBES, BETWEEN_S, LAST_S = 3, 0.3, 0.7  # an answer to any of them counts until the end


def main():
    card, address, sender = sys.argv[1:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_ARP)) as wire:
        wire.bind((card, ETHERTYPE_ARP))
        own = wire.getsockname()[4]
        asked = struct.pack(FORM, ETHERNET, IPV4, 6, 4, REQUEST, own, socket.inet_aton(sender), NOBODY, socket.inet_aton(address))
        for left in reversed(range(PROBES)):
            wire.send(BROADCAST + own + struct.pack("!H", ETHERTYPE_ARP) + asked)
            until = time.monotonic() + (BETWEEN_S if left else LAST_S)
            while (wait_s := until - time.monotonic()) > 0:
                wire.settimeout(wait_s)
                try:
                    heard = wire.recv(64)[14:42]
                except socket.timeout:
                    break
                if len(heard) < 28:
                    continue
                _, _, _, _, what, owner, owned, _, _ = struct.unpack(FORM, heard)
                if what in (REQUEST, REPLY) and owned == socket.inet_aton(address) and owner != own:
                    print(":".join(f"{byte:02x}" for byte in owner))
                    return


main()
