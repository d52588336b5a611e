import { fold } from "../analyzer.ts";

/** A kind of answer that a question asks for, and how a text shows that it has one. */
export interface Kind {
  isIn(text: string): boolean;
  /** Every answer of this kind shows it: a price has a currency. People and places are called in too many ways. */
  readonly isSure?: boolean;
}

const NUMBER_WORDS =
  "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|dozen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|half|once|twice|none|no|every|each|daily|weekly|monthly|yearly|annually|quarterly|" +
  "eine?[nrms]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|neunzehn|dutzend|zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert|tausend|halbe?[nrs]?|einmal|zweimal|dreimal|kein\\w*|jede[nrsm]?|täglich|wöchentlich|monatlich|jährlich|vierteljährlich|" +
  "une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|quarante|cinquante|soixante|cent|mille|demie?|aucune?|chaque|" +
  "un[ao]s?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|quince|veinte|treinta|cuarenta|cincuenta|cien|mil|medi[ao]|ningun[ao]?|cada";
const UNIT_OF_TIME =
  "seconds?|minutes?|hours?|days?|weeks?|months?|years?|nights?|working days?|sekunden?|minuten?|stunden?|tag(?:e[ns]?)?|nächten?|werktag\\w*|arbeitstag\\w*|wochen?|monat(?:e[ns]?)?|jahr(?:e[ns]?)?|ms|min|h|jours?|semaines?|mois|ans?|heures?|días?|semanas?|meses|años?|horas?";
const MONTHS =
  "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?|dez(?:ember)?";
const DAYS =
  "monday|tuesday|wednesday|thursday|friday|saturday|sunday|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|weekdays?|weekends?|werktags|wochenende";

const kind = (pattern: string, flags = "iu"): Kind => {
  const regex = new RegExp(pattern, flags);
  return { isIn: (text) => regex.test(text) };
};
const sure = (pattern: string): Kind => ({ ...kind(pattern), isSure: true });
const B = "(?<![\\p{L}\\p{N}])";
const E = "(?![\\p{L}\\p{N}])";

const NUMBER = kind(`\\d|${B}(?:${NUMBER_WORDS})${E}`);
const MONEY = sure(
  `[€$£¥]|${B}(?:euros?|eur|dollars?|usd|chf|franken|pounds?|gbp|cents?|free(?: of charge)?|kostenlos|kostenfrei|gratis|gratuite?s?|gratuitement|centimes?|prozent|percent)${E}|%`,
);
const DURATION = kind(`(?:\\d|${B}(?:${NUMBER_WORDS})${E})[^.]{0,16}?(?<!\\p{L})(?:${UNIT_OF_TIME})${E}`);
const TIME = kind(
  `\\d{1,2}[:.]\\d\\d${E}|${B}(?:1[5-9]|20)\\d\\d${E}|\\d{1,2}\\.\\s?(?:\\d|${MONTHS})|${B}(?:am|zum|vom|bis|ab|seit|der|dem|den) \\d{1,2}\\.|\\d(?:st|nd|rd|th)${E}|${B}(?:${MONTHS}|${DAYS})${E}|\\d\\s?(?:uhr|am|pm|a\\.m\\.|p\\.m\\.|o['’]clock)|${B}(?:before|after|within|until|daily|weekly|monthly|quarterly|annual(?:ly)?|yearly|every|noon|midnight|immediately|as soon as|vor|nach|innerhalb|binnen|bis|täglich|wöchentlich|monatlich|jährlich|quartal|sofort|sobald|spätestens|frühestens|mittag|mitternacht|anfang|ende)${E}|${B}(?:end|start|beginning) of`,
);
/** Names: people are mostly called by a role, or by two words with capitals. */
const PERSON = kind(
  `\\p{Lu}[\\p{Ll}'’-]+\\s+(?:(?:van|von|de|der|zu)\\s+)?\\p{Lu}[\\p{Ll}'’-]+|@|[Mm]anager|[Tt]eam|[Dd]epartment|[Oo]fficer|[Ll]ead|[Hh]ead|[Dd]irector|[Aa]dministrator|[Bb]oard|[Ss]upport|[Oo]ffice|[Dd]esk|[Ee]mployee|[Oo]wner|[Uu]ser|[Mm]ember|[Cc]ommittee|[Cc]ouncil|[Cc]ompany|leit(?:er|ung)|beauftragt|abteilung|vorgesetzt|team|verwaltung|betriebsrat|geschäftsführ|personal|kolleg|mitarbeit|support|empfang|\\b(?:HR|IT)\\b`,
  "u",
);
const PLACE = kind(
  `${B}(?:in|at|on|under|below|above|behind|next to|near|inside|outside|from|to|via|im|am|an|auf|unter|über|hinter|neben|bei|beim|zum|zur|vom)${E}`,
);
const PHONE = sure("(?:\\+|\\b0)\\d[\\d /()-]{5,}|\\b(?:ext(?:ension)?|durchwahl)\\b\\.?\\s*\\d+");
const MAIL = sure("[\\w.+-]+@[\\w-]+\\.\\w+");
const LENGTH = kind(`\\d\\s?(?:mm|cm|dm|m|km|inch(?:es)?|in|ft|feet|zoll|meter[ns]?|metres?|kilometer[ns]?)${E}|["″]`);
const WEIGHT = sure(`\\d\\s?(?:mg|g|kg|t|lbs?|pounds?|tons?|tonnen|gramm|kilo(?:gramm)?s?)${E}`);
const TEMPERATURE = sure(`°|${B}(?:degrees?|grad|celsius|fahrenheit)${E}`);
const PERCENT = kind(`%|${B}(?:percent|per cent|prozent)${E}`);

/** The noun before stands for itself: `the cost of`, but not `the cost centre`. */
const ALONE =
  "(?=\\W*$|\\W+(?:numbers?|address(?:es)?|of|for|per|to|in|on|at|by|from|with|without|is|are|was|were|do|does|did|will|would|can|may|must|should|an?|the|my|our|your|this|that|it|I|we|you|us|me|if|when|and|or|each)\\b)";

/** Without accents. The first that fits a question counts; the more special before the more general. */
const QUESTIONS: readonly (readonly [RegExp, readonly Kind[]])[] = [
  [
    new RegExp(
      `\\b(?:how much|what)\\b[^?]*\\b(?:costs?|price|fee|charge)\\b${ALONE}|\\bhow expensive\\b|\\b(?:was kostet|wie ?viel kostet|wie teuer|preis|gebuhr|kosten|combien coute|quel est le prix|tarif|cuanto cuesta|precio)\\b`,
      "i",
    ),
    [MONEY],
  ],
  [
    /\b(?:how much|what)\b[^?]*\b(?:pay|paid|rent|budget|salary|allowance|deposit)\b|\b(?:wie ?viel (?:geld|euro)|wie hoch|betrag|pauschale|zuschuss)\b/i,
    [MONEY, NUMBER],
  ],
  [/\b(?:percent(?:age)?|per cent|prozent(?:satz)?|share of|anteil)\b/i, [PERCENT, NUMBER]],
  [new RegExp(`\\b(?:e-?mail|mail address|mailadresse)\\b(?!-)${ALONE}|\\be-?mail-?adresse\\b`, "i"), [MAIL]],
  [
    new RegExp(
      `\\b(?:phone|telephone|hotline|telefon|extension)\\b(?!-)${ALONE}|\\b(?:telefonnummer|rufnummer|durchwahl)\\b|\\b(?:number|nummer|numero)\\b.*\\b(?:call|ring|reach|dial|anrufen|rufe|erreich\\w*|joindre|appeler)\\b`,
      "i",
    ),
    [PHONE],
  ],
  [/\b(?:how hot|how cold|how warm|temperatures?|temperatur(?:en)?|wie (?:heiss|kalt|warm))\b/i, [TEMPERATURE, NUMBER]],
  [/\b(?:how heavy|heaviest|lightest|weigh(?:s|t)?|wie schwer|schwerste[rns]?|gewicht|wiegt)\b/i, [WEIGHT, NUMBER]],
  [
    /\b(?:how (?:tall|high|wide|deep|large|big|far)|distance|dimensions?|wie (?:gross|hoch|breit|tief|weit)|abstand|abmessungen)\b/i,
    [LENGTH, NUMBER],
  ],
  [
    /\b(?:how long|how quickly|how soon|how fast|wie lange?|wie schnell|combien de temps|cuanto tiempo)\b/i,
    [DURATION, TIME, LENGTH],
  ],
  [/\b(?:how old|wie alt|quel age|cuantos anos)\b/i, [DURATION, TIME]],
  [/\b(?:how often|how frequently|wie oft|wie haufig|how many times)\b/i, [DURATION, TIME, NUMBER]],
  [
    /\b(?:how many|how much|wie ?viele?r?|combien|cuant[oa]s?|number of|anzahl|maximum|minimum|maximal|mindestens|limit|at most|at least|hochstens)\b/i,
    [NUMBER],
  ],
  [
    /^\W*(?:when|since when|until when|by when|wann|seit wann|bis wann|ab wann|quand|cuando)\b|\b(?:what (?:date|day|time|year|month)|which (?:date|day|year|month)|deadline|uhrzeit|welche[rmns]? (?:tag|datum|jahr|monat)|frist|by when|bis wann|ab wann|wann)\b/i,
    [TIME, DURATION],
  ],
  [
    /^\W*(?:who|whom|whose|wer|wen|wem|wessen|qui|quien)\b|\b(?:to whom|by whom|with whom|an wen|bei wem|mit wem|von wem)\b/i,
    [PERSON],
  ],
  [/^\W*(?:where|wo|wohin|woher|ou|donde)\b/i, [PLACE]],
];

/** Returns the kinds of answers that a question expects, any of which will do; [] for a question that may have any. */
export function expectedKinds(question: string): readonly Kind[] {
  const asked = question.normalize("NFKD").replaceAll(/\p{M}/gu, "").replaceAll("ß", "ss");
  return QUESTIONS.find(([pattern]) => pattern.test(asked))?.[1] ?? [];
}

/** Question words that an answer need not repeat, because its kind matches: `cost` and a price. */
const WORDS: readonly (readonly [string, readonly Kind[]])[] = [
  [
    "cost costs price prices fee fees expensive pay charge charged amount kostet kosten preis preise teuer gebühr betrag euro euros dollars money geld hoch coûte coûtent prix tarif cuesta precio",
    [MONEY],
  ],
  [
    "phone telephone number call reach hotline telefon telefonnummer nummer rufnummer anrufen erreiche erreichen",
    [PHONE],
  ],
  ["email mail e-mail address write mailadresse adresse schreiben", [MAIL]],
  ["hot cold warm temperature temperatures heiß kalt temperatur temperaturen", [TEMPERATURE]],
  ["heavy heaviest weigh weighs weight schwer schwerste wiegt gewicht", [WEIGHT]],
  [
    "tall high wide deep large big far size distance dimensions width height depth length groß breit tief weit größe breite höhe tiefe länge abstand abmessungen",
    [LENGTH, NUMBER],
  ],
  [
    "time duration quickly soon fast dauert dauer schnell zeit last lasts days weeks months hours minutes tage wochen monate stunden minuten",
    [DURATION],
  ],
  ["date day days year month hour deadline datum tag tage jahr monat uhrzeit uhr zeitpunkt frist", [TIME, DURATION]],
  ["open opens opening closed closes geöffnet offen öffnet öffnungszeiten geschlossen schließt zugänglich", [TIME]],
  ["often frequently frequency times häufig mal", [TIME, DURATION, NUMBER]],
  ["percent percentage share prozent prozentsatz anteil", [PERCENT]],
  ["number amount maximum minimum limit anzahl menge maximal höchstens mindestens", [NUMBER]],
  ["person people responsible contact charge zuständig verantwortlich ansprechpartner ansprechpartnerin", [PERSON]],
];
const KINDS_OF_WORDS: ReadonlyMap<string, readonly Kind[]> = new Map(
  WORDS.flatMap(([words, kinds]) => words.split(" ").map((word) => [fold(word), kinds] as const)),
);

/** Returns the kinds of answers that match a folded word of a question. */
export function kindWords(word: string): readonly Kind[] {
  return KINDS_OF_WORDS.get(word) ?? [];
}
