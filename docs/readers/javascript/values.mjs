// The frame and the values of wire format 1. An integer is a BigInt, a float a number, a bin a Uint8Array, a map a Map.

export class DecodeError extends Error {
  name = "DecodeError";
}

export const NEWER = "written by a newer version";
const MAGIC = [0x53, 0x4d, 0x45, 0x54];
const HEADER = 9;
const LARGEST = 1n << 64n; // integers from here on, and below its negative half, are of extension type 1

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** Returns the body of a state as bytes with the header and the checksum that belong to it. */
export function framed(value) {
  const body = packed(value);
  const bytes = new Uint8Array(HEADER + body.length);
  bytes.set([...MAGIC, 1]);
  new DataView(bytes.buffer).setUint32(5, crc32(body), true);
  bytes.set(body, HEADER);
  return bytes;
}

/** Returns the body of a state, after a check of version, checksum and form. */
export function unframed(data) {
  const bytes = Uint8Array.from(data); // a copy, also of a Buffer of Node
  if (bytes.length < HEADER || MAGIC.some((byte, at) => bytes[at] !== byte)) {
    throw new DecodeError("Expected bytes that start with SMET");
  }
  if (bytes[4] !== 1) {
    throw new DecodeError(`Expected version 1, but got ${bytes[4]}${bytes[4] > 1 ? `: ${NEWER}` : ""}`);
  }
  const body = bytes.subarray(HEADER);
  if (crc32(body) !== new DataView(bytes.buffer).getUint32(5, true)) {
    throw new DecodeError("Expected the checksum to match, but the bytes were damaged or cut short");
  }
  let value;
  let again;
  try {
    value = unpacked(body);
    again = packed(value);
  } catch (error) {
    throw new DecodeError(`Expected a msgpack body: ${error.message}`);
  }
  if (!sameBytes(again, body)) throw new DecodeError("Expected one value in its shortest form");
  return value;
}

function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Returns the value of msgpack bytes. Longer forms are read, too: the caller writes the value again and compares. */
function unpacked(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  function take(n) {
    if (at + n > bytes.length) throw new RangeError("it is cut short");
    at += n;
    return bytes.subarray(at - n, at);
  }
  function size(n) {
    return take(n).reduce((sum, byte) => sum * 256 + byte, 0);
  }
  function integer(n, signed) {
    const value = take(n).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    return signed ? BigInt.asIntN(8 * n, value) : value;
  }
  function array(n) {
    if (n > bytes.length) throw new RangeError("it is cut short");
    return Array.from({ length: n }, read);
  }
  function map(n) {
    return new Map(Array.from({ length: n }, () => [read(), read()]));
  }
  function extension(n) {
    const type = size(1);
    const value = integer(n, true);
    if (type !== 1 || (value >= -LARGEST / 2n && value < LARGEST)) throw new RangeError("an extension it cannot have");
    return value;
  }
  function read() {
    const head = size(1);
    if (head < 0x80) return BigInt(head);
    if (head < 0x90) return map(head & 15);
    if (head < 0xa0) return array(head & 15);
    if (head < 0xc0) return text(take(head & 31));
    if (head >= 0xe0) return BigInt(head - 256);
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6: return take(size(1 << (head - 0xc4))).slice();
      case 0xc7: case 0xc8: case 0xc9: return extension(size(1 << (head - 0xc7)));
      case 0xcb: take(8); return view.getFloat64(at - 8);
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return integer(1 << (head - 0xcc), false);
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return integer(1 << (head - 0xd0), true);
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return extension(1 << (head - 0xd4));
      case 0xd9: case 0xda: case 0xdb: return text(take(size(1 << (head - 0xd9))));
      case 0xdc: case 0xdd: return array(size(2 << (head - 0xdc)));
      case 0xde: case 0xdf: return map(size(2 << (head - 0xde)));
      default: throw new RangeError(`the byte ${head}`);
    }
  }

  const value = read();
  if (at !== bytes.length) throw new RangeError("something follows it");
  return value;
}

function text(bytes) {
  let result = "";
  for (let at = 0; at < bytes.length; ) {
    const head = bytes[at++];
    const more = head < 0x80 ? 0 : head < 0xe0 ? 1 : head < 0xf0 ? 2 : 3;
    let code = more ? head & (0x3f >> more) : head;
    for (let k = 0; k < more; k++) code = (code << 6) | (bytes[at++] & 0x3f);
    result += String.fromCodePoint(code);
  }
  return result;
}

function utf8(string) {
  const bytes = [];
  for (const character of string) {
    const code = character.codePointAt(0);
    const more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes.push(more ? ((0xff00 >> (more + 1)) & 0xff) | (code >> (6 * more)) : code);
    for (let k = more - 1; k >= 0; k--) bytes.push(0x80 | ((code >> (6 * k)) & 0x3f));
  }
  return bytes;
}

/** Returns a value in the shortest form of msgpack. */
export function packed(value) {
  const bytes = [];

  function append(more) {
    for (const byte of more) bytes.push(byte);
  }
  function number(value, n) {
    for (let k = n - 1; k >= 0; k--) bytes.push(Number((BigInt(value) >> BigInt(8 * k)) & 255n));
  }
  function head(n, short, limit, heads) { // heads: of sizes of 1, 2 and 4 bytes
    if (n < limit) return bytes.push(short | n);
    const k = [0, 1, 2].find((k) => heads[k] && n < 2 ** (8 << k));
    bytes.push(heads[k]);
    return number(n, 1 << k);
  }
  function integer(value) {
    if (value >= -32n && value < 128n) return number(BigInt.asUintN(8, value), 1);
    for (let k = 0; k < 4; k++) {
      const bits = 8 << k;
      if (value < 0n ? BigInt.asIntN(bits, value) === value : BigInt.asUintN(bits, value) === value) {
        bytes.push((value < 0n ? 0xd0 : 0xcc) + k);
        return number(value, 1 << k);
      }
    }
    const n = Math.floor((value < 0n ? -value : value).toString(2).length / 8) + 1;
    if (n === 16) bytes.push(0xd8);
    else head(n, 0, 0, [0xc7, 0xc8, 0xc9]);
    bytes.push(1);
    return number(value, n);
  }
  function write(value) {
    if (value === null || typeof value === "boolean") bytes.push(value === null ? 0xc0 : value ? 0xc3 : 0xc2);
    else if (typeof value === "bigint") integer(value);
    else if (typeof value === "number") {
      const float = new DataView(new ArrayBuffer(8));
      float.setFloat64(0, value);
      bytes.push(0xcb);
      append(new Uint8Array(float.buffer));
    } else if (typeof value === "string") {
      const encoded = utf8(value);
      head(encoded.length, 0xa0, 32, [0xd9, 0xda, 0xdb]);
      append(encoded);
    } else if (value instanceof Uint8Array) {
      head(value.length, 0, 0, [0xc4, 0xc5, 0xc6]);
      append(value);
    } else if (value instanceof Map) {
      head(value.size, 0x80, 16, [0, 0xde, 0xdf]);
      for (const [key, item] of value) write(key), write(item);
    } else if (Array.isArray(value)) {
      head(value.length, 0x90, 16, [0, 0xdc, 0xdd]);
      value.forEach(write);
    } else throw new TypeError(`Expected a value that the format has, but got ${typeof value}`);
  }

  write(value);
  return Uint8Array.from(bytes);
}

/** Reads the varints of a bin, one after the other. */
export class Varints {
  constructor(bytes, places = 64) {
    this.bytes = bytes;
    this.places = BigInt(places);
    this.at = 0;
  }

  get atEnd() {
    return this.at === this.bytes.length;
  }

  next() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new DecodeError("Expected another number, but a bin ends");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) {
        if ((byte === 0 && shift) || value >> 64n) throw new DecodeError("Expected at most 64 bits in the shortest form");
        return value;
      }
    }
  }

  /** Returns a weight in units of 2^-64. */
  weight(hasFraction) {
    const whole = this.next();
    return (whole << 64n) + (hasFraction ? this.next() << (64n - this.places) : 0n);
  }

  end(value) {
    if (!this.atEnd) throw new DecodeError("Expected the end of a bin, but more follows");
    return value;
  }
}

/** Returns the varint of an integer from 0 to 2^64 - 1 as an array of bytes. */
export function varint(value) {
  const bytes = [];
  for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return [...bytes, Number(value)];
}
