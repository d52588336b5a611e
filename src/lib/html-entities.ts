/** Names for U+00A0 to U+00FF, in order. */
const LATIN_1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3
acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig
Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave
Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave
iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`;

/** Names with their code points in hexadecimal, for the rest that pages use in practice. */
const FURTHER = `amp 26 lt 3c gt 3e quot 22 apos 27 Tab 9 NewLine a AMP 26 LT 3c GT 3e QUOT 22 COPY a9 REG ae
Amacr 100 amacr 101 Abreve 102 abreve 103 Aogon 104 aogon 105 Cacute 106 cacute 107 Ccaron 10c ccaron 10d Dcaron 10e
dcaron 10f Dstrok 110 dstrok 111 Emacr 112 emacr 113 Eogon 118 eogon 119 Ecaron 11a ecaron 11b Gbreve 11e gbreve 11f
Imacr 12a imacr 12b Idot 130 imath 131 inodot 131 Lacute 139 lacute 13a Lcaron 13d lcaron 13e Lstrok 141 lstrok 142
Nacute 143 nacute 144 Ncaron 147 ncaron 148 Omacr 14c omacr 14d Odblac 150 odblac 151 OElig 152 oelig 153 Racute 154
racute 155 Rcaron 158 rcaron 159 Sacute 15a sacute 15b Scedil 15e scedil 15f Scaron 160 scaron 161 Tcaron 164
tcaron 165 Umacr 16a umacr 16b Uring 16e uring 16f Udblac 170 udblac 171 Yuml 178 Zacute 179 zacute 17a Zdot 17b
zdot 17c Zcaron 17d zcaron 17e fnof 192 circ 2c6 tilde 2dc Alpha 391 Beta 392 Gamma 393 Delta 394 Epsilon 395
Zeta 396 Eta 397 Theta 398 Iota 399 Kappa 39a Lambda 39b Mu 39c Nu 39d Xi 39e Omicron 39f Pi 3a0 Rho 3a1 Sigma 3a3
Tau 3a4 Upsilon 3a5 Phi 3a6 Chi 3a7 Psi 3a8 Omega 3a9 alpha 3b1 beta 3b2 gamma 3b3 delta 3b4 epsilon 3b5 zeta 3b6
eta 3b7 theta 3b8 iota 3b9 kappa 3ba lambda 3bb mu 3bc nu 3bd xi 3be omicron 3bf pi 3c0 rho 3c1 sigmaf 3c2 sigma 3c3
tau 3c4 upsilon 3c5 phi 3c6 chi 3c7 psi 3c8 omega 3c9 ensp 2002 emsp 2003 thinsp 2009 zwnj 200c zwj 200d lrm 200e
rlm 200f ndash 2013 mdash 2014 lsquo 2018 rsquo 2019 sbquo 201a ldquo 201c rdquo 201d bdquo 201e dagger 2020
Dagger 2021 bull 2022 hellip 2026 permil 2030 prime 2032 Prime 2033 lsaquo 2039 rsaquo 203a oline 203e frasl 2044
euro 20ac image 2111 real 211c trade 2122 larr 2190 uarr 2191 rarr 2192 darr 2193 harr 2194 lArr 21d0 rArr 21d2
hArr 21d4 forall 2200 part 2202 exist 2203 empty 2205 nabla 2207 isin 2208 notin 2209 ni 220b prod 220f sum 2211
minus 2212 lowast 2217 radic 221a prop 221d infin 221e ang 2220 and 2227 or 2228 cap 2229 cup 222a int 222b there4 2234
sim 223c cong 2245 asymp 2248 ne 2260 equiv 2261 le 2264 ge 2265 sub 2282 sup 2283 nsub 2284 sube 2286 supe 2287
oplus 2295 otimes 2297 perp 22a5 sdot 22c5 loz 25ca spades 2660 clubs 2663 hearts 2665 diams 2666 check 2713
num 23 excl 21 dollar 24 percnt 25 lpar 28 rpar 29 ast 2a plus 2b comma 2c period 2e sol 2f colon 3a semi 3b equals 3d
quest 3f commat 40 lsqb 5b bsol 5c rsqb 5d lowbar 5f grave 60 lcub 7b verbar 7c rcub 7d hyphen 2010 horbar 2015`;

/** What numeric references from 128 to 159 mean: the bytes of windows-1252, whatever the page's encoding. */
const C1 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

export const NAMED_ENTITIES: ReadonlyMap<string, string> = new Map([
  ...LATIN_1.split(/\s/).map((name, at): [string, string] => [name, String.fromCharCode(0xa0 + at)]),
  ...Array.from(FURTHER.matchAll(/(\w+)\s([0-9a-f]+)/g), ([, name = "", hex = ""]): [string, string] => [
    name,
    String.fromCodePoint(Number.parseInt(hex, 16)),
  ]),
]);

/** Names that also count without their semicolon, as in `&nbsp` or `AT&amp T`. */
const UNCLOSED = new Set([...LATIN_1.split(/\s/), "amp", "lt", "gt", "quot"]);

/** Names outside the table, and anything that only looks like a reference, stay as written. */
export function decodeEntities(text: string): string {
  return text.includes("&")
    ? text.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,30}));?/g, decodeReference)
    : text;
}

/** In attributes only closed references count: `?a=1&copy=2` is an address, not a copyright sign. */
export function decodeAttribute(value: string): string {
  return value.includes("&")
    ? value.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,30}));/g, decodeReference)
    : value;
}

function decodeReference(reference: string, decimal?: string, hex?: string, name?: string): string {
  if (name) {
    const counts = reference.endsWith(";") || UNCLOSED.has(name);
    return (counts ? NAMED_ENTITIES.get(name) : undefined) ?? reference;
  }
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? "", 16);
  if (code >= 0x80 && code <= 0x9f) return C1[code - 0x80] ?? "";
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\ufffd";
  return String.fromCodePoint(code);
}
