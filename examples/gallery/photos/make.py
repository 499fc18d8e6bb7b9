#!/usr/bin/env python3
"""Draws the gallery's pictures: `python3 make.py`, the standard library only.

Each format is written by hand and without compression that differs between library versions, so every run makes the
same bytes. Pictures and script are in the public domain (CC0 1.0).
"""

import math
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def mix(low, high, part, whole):
    """The colour `part / whole` of the way from `low` to `high`."""
    return tuple(a + (b - a) * part // whole for a, b in zip(low, high))


def sunset(x, y, width, height):
    horizon = height * 2 // 3
    if (x - width // 2) ** 2 + (y - horizon) ** 2 < (height // 4) ** 2 and y < horizon:
        return (255, 225, 140)
    if y < horizon:
        return mix((60, 40, 110), (250, 140, 80), y, horizon)
    shine = abs(x - width // 2) < (y - horizon) // 2 + 3 and (x + 3 * y) % 5 < 3
    return (250, 190, 110) if shine else mix((60, 60, 110), (20, 25, 60), y - horizon, height - horizon)


def hills(x, y, width, height):
    for layer, (colour, base) in enumerate((((34, 85, 51), 80), ((58, 120, 70), 62), ((120, 165, 130), 45))):
        bump = (x * (layer + 2) * 3) % (2 * width)
        if y * 100 > height * base - min(bump, 2 * width - bump) * 18:
            return colour
    return mix((140, 190, 235), (225, 240, 250), y, height)


def moon(x, y, width, height):
    if (x - width // 3) ** 2 + (y - height // 3) ** 2 < (height // 5) ** 2:
        return (235, 235, 225) if (x * y) % 7 else (205, 205, 195)
    return (255, 255, 255) if (x * 7919 + y * 104729) % 251 == 0 else mix((8, 10, 30), (40, 50, 90), y, height)


def waves(x, y, width, height):
    crest = (x + (y // 4) * 5) % 16
    rise = crest if crest < 8 else 15 - crest
    return (230, 245, 250) if y % 4 == 0 and rise > 5 else mix((70, 160, 190), (10, 50, 100), y, height)


def dunes(x, y, width, height):
    ridge = height // 2 + abs((x * 2) % width - width // 2) // 4
    if y < ridge:
        return mix((90, 150, 210), (245, 225, 190), y, height)
    return (225, 180, 110) if (x * 2) % width < width // 2 else (185, 135, 75)


def harbour(x, y, width, height):
    water = height * 3 // 5
    if y >= water:
        return (40, 90, 130) if (x + y * 3) % 9 else (120, 165, 190)
    house = x // 12
    if y > water - 14 - (house * 7) % 13:
        lit = 3 < x % 12 < 7 and (water - y) % 8 in (3, 4, 5)
        walls = ((190, 70, 60), (220, 180, 90), (90, 130, 170), (230, 225, 210))
        return (255, 240, 170) if lit else walls[house % 4]
    return mix((150, 200, 240), (240, 240, 235), y, water)


def rows_of(scene, width, height):
    return [[scene(x, y, width, height) for x in range(width)] for y in range(height)]


def png(rows):
    height, width = len(rows), len(rows[0])
    raw = b"".join(b"\0" + bytes(part for pixel in row for part in pixel) for row in rows)
    # Stored blocks: what a compressor makes of a picture differs between its versions.
    blocks = [raw[at : at + 65535] for at in range(0, len(raw), 65535)]
    body = b"\x78\x01" + b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block for block in blocks
    )
    body += struct.pack(">I", zlib.adler32(raw))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def bmp(rows):
    height, width = len(rows), len(rows[0])
    pad = b"\0" * (-width * 3 % 4)
    data = b"".join(b"".join(bytes(pixel[::-1]) for pixel in row) + pad for row in reversed(rows))
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(data), 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) + header + data


def gif(rows):
    height, width = len(rows), len(rows[0])
    palette = [(r * 51, g * 51, b * 51) for r in range(6) for g in range(6) for b in range(6)]
    palette += [(0, 0, 0)] * (256 - len(palette))
    indices = [r // 43 * 36 + g // 43 * 6 + b // 43 for row in rows for r, g, b in row]
    bits, filled, packed = 0, 0, bytearray()
    table, size, prefix = {}, 9, None

    def emit(code):
        nonlocal bits, filled
        bits |= code << filled
        filled += size
        while filled >= 8:
            packed.append(bits & 255)
            bits >>= 8
            filled -= 8

    emit(256)
    for index in indices:
        if prefix is None:
            prefix = index
        elif (prefix, index) in table:
            prefix = table[prefix, index]
        else:
            emit(prefix)
            table[prefix, index] = 258 + len(table)
            if 258 + len(table) > 1 << size:
                size += 1
            if len(table) > 3700:
                emit(256)
                table, size = {}, 9
            prefix = index
    emit(prefix)
    emit(257)
    packed.append(bits & 255)
    blocks = [bytes(packed[at : at + 255]) for at in range(0, len(packed), 255)]
    screen = struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + b"".join(bytes(colour) for colour in palette)
    image = struct.pack("<BHHHHB", 0x2C, 0, 0, width, height, 0) + b"\x08"
    return b"GIF89a" + screen + image + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0\x3b"


ZIGZAG = sorted(range(64), key=lambda at: (at // 8 + at % 8, at // 8 if (at // 8 + at % 8) % 2 else at % 8))


def jpeg(rows):
    """Baseline, in shades of grey."""
    height, width = len(rows), len(rows[0])
    grey = [[(299 * r + 587 * g + 114 * b) // 1000 for r, g, b in row] for row in rows]
    quantum = [3 + (at // 8 + at % 8) * 2 for at in range(64)]
    # Huffman tables in which all codes are of one length: legal, and short to write.
    dc = {symbol: (symbol, 4) for symbol in range(12)}
    symbols = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]
    ac = {symbol: (code, 8) for code, symbol in enumerate(symbols)}
    cosines = [[math.cos((2 * x + 1) * u * math.pi / 16) for x in range(8)] for u in range(8)]
    scale = [math.sqrt(0.125)] + [0.5] * 7
    bits = []

    def emit(value, length):
        bits.extend(value >> shift & 1 for shift in range(length - 1, -1, -1))

    def amplitude(value):
        size = abs(value).bit_length()
        emit(value if value >= 0 else value + (1 << size) - 1, size)

    before = 0
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            block = [[grey[top + y][left + x] - 128 for x in range(8)] for y in range(8)]
            found = []
            for at in range(64):
                v, u = divmod(at, 8)
                total = sum(block[y][x] * cosines[u][x] * cosines[v][y] for y in range(8) for x in range(8))
                found.append(round(total * scale[u] * scale[v] / quantum[at]))
            ordered = [found[at] for at in ZIGZAG]
            emit(*dc[abs(ordered[0] - before).bit_length()])
            amplitude(ordered[0] - before)
            before = ordered[0]
            run = 0
            last = max((at for at in range(1, 64) if ordered[at]), default=0)
            for value in ordered[1 : last + 1]:
                if value == 0:
                    run += 1
                    continue
                while run > 15:
                    emit(*ac[0xF0])
                    run -= 16
                emit(*ac[run << 4 | abs(value).bit_length()])
                amplitude(value)
                run = 0
            if last < 63:
                emit(*ac[0x00])
    bits.extend([1] * (-len(bits) % 8))
    packed = bytes(int("".join(map(str, bits[at : at + 8])), 2) for at in range(0, len(bits), 8))

    def segment(marker, data):
        return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data

    def lengths(length, count):
        return bytes(count if at == length else 0 for at in range(1, 17))

    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")
        + segment(0xDB, b"\0" + bytes(quantum[at] for at in ZIGZAG))
        + segment(0xC0, struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\0")
        + segment(0xC4, b"\x00" + lengths(4, 12) + bytes(range(12)))
        + segment(0xC4, b"\x10" + lengths(8, len(symbols)) + bytes(symbols))
        + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")
        + packed.replace(b"\xff", b"\xff\0")
        + b"\xff\xd9"
    )


PICTURES = (
    ("land/dunes.bmp", bmp, dunes, 64, 40),
    ("land/hills.png", png, hills, 72, 48),
    ("sea/harbour.png", png, harbour, 96, 48),
    ("sea/waves.gif", gif, waves, 80, 60),
    ("sky/moon.jpg", jpeg, moon, 96, 64),
    ("sky/sunset.png", png, sunset, 64, 64),
)

for path, encode, scene, width, height in PICTURES:
    target = HERE / path
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(encode(rows_of(scene, width, height)))
    print(f"{path}: {width} x {height}, {target.stat().st_size} bytes")
