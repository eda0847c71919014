// ChaCha20 in counter mode (Bernstein 2008) as a generator; normal values by Box and Muller; subsets by Knuth's
// selection sampling (Algorithm S), which looks at every record once and needs no memory.

const ROUNDS = 20;
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];

function quarter(s, a, b, c, d) {
  s[a] = (s[a] + s[b]) | 0; s[d] ^= s[a]; s[d] = (s[d] << 16) | (s[d] >>> 16);
  s[c] = (s[c] + s[d]) | 0; s[b] ^= s[c]; s[b] = (s[b] << 12) | (s[b] >>> 20);
  s[a] = (s[a] + s[b]) | 0; s[d] ^= s[a]; s[d] = (s[d] << 8) | (s[d] >>> 24);
  s[c] = (s[c] + s[d]) | 0; s[b] ^= s[c]; s[b] = (s[b] << 7) | (s[b] >>> 25);
}

export class Random {
  // `key`: eight 32-bit words; `stream` sets trials of one key apart.
  constructor(key, stream) {
    this.input = Int32Array.from([...CONSTANTS, ...key, 0, 0, stream | 0, Math.floor(stream / 2 ** 32) | 0]);
    this.block = new Int32Array(16);
    this.used = 16;
    this.spare = null;
  }

  word() {
    if (this.used === 16) this.refill();
    return this.block[this.used++] >>> 0;
  }

  refill() {
    const s = this.block;
    s.set(this.input);
    for (let round = 0; round < ROUNDS; round += 2) {
      quarter(s, 0, 4, 8, 12); quarter(s, 1, 5, 9, 13); quarter(s, 2, 6, 10, 14); quarter(s, 3, 7, 11, 15);
      quarter(s, 0, 5, 10, 15); quarter(s, 1, 6, 11, 12); quarter(s, 2, 7, 8, 13); quarter(s, 3, 4, 9, 14);
    }
    for (let i = 0; i < 16; i++) s[i] = (s[i] + this.input[i]) | 0;
    this.input[12] = (this.input[12] + 1) | 0;
    this.used = 0;
  }

  // 53 bits, in [0, 1).
  uniform() {
    return ((this.word() >>> 5) * 2 ** 26 + (this.word() >>> 6)) * 2 ** -53;
  }

  normal() {
    if (this.spare !== null) {
      const value = this.spare;
      this.spare = null;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  subset(n, m) {
    const chosen = [];
    for (let i = 0; chosen.length < m; i++) if ((n - i) * this.uniform() < m - chosen.length) chosen.push(i);
    return chosen;
  }
}
