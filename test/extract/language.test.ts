// The language of a text is detected from one sentence, or not named at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { detectLanguage } from "../../src/extract/detect-language.ts";

const sentences: Readonly<Record<string, string>> = {
  en: "All employees may work from home up to three days a week, provided that their manager agrees.",
  de: "Alle Beschäftigten können bis zu drei Tage in der Woche von zu Hause arbeiten, wenn die Führungskraft zustimmt.",
  fr: "Tous les employés peuvent travailler à domicile jusqu'à trois jours par semaine, à condition que leur responsable soit d'accord.",
  es: "Todos los empleados pueden trabajar desde casa hasta tres días a la semana, siempre que su responsable esté de acuerdo.",
  it: "Tutti i dipendenti possono lavorare da casa fino a tre giorni alla settimana, a condizione che il responsabile sia d'accordo.",
  pt: "Todos os funcionários podem trabalhar em casa até três dias por semana, desde que o seu gestor não se oponha.",
  nl: "Alle medewerkers mogen tot drie dagen per week thuis werken, op voorwaarde dat hun leidinggevende het daarmee eens is.",
  sv: "Alla anställda får arbeta hemifrån upp till tre dagar i veckan, om chefen godkänner det och det inte är ett hinder.",
  da: "Alle medarbejdere kan arbejde hjemmefra op til tre dage om ugen, hvis deres leder er enig og det ikke går ud over andre.",
  no: "Alle ansatte kan arbeide hjemmefra opptil tre dager i uken, hvis lederen er enig og det ikke går ut over noen andre.",
  fi: "Kaikki työntekijät voivat työskennellä kotona kolme päivää viikossa, jos esimies on samaa mieltä ja se on mahdollista.",
  pl: "Wszyscy pracownicy mogą pracować z domu do trzech dni w tygodniu, jeśli ich przełożony się na to zgodzi.",
  cs: "Všichni zaměstnanci mohou pracovat z domova až tři dny v týdnu, pokud s tím jejich nadřízený souhlasí a je to možné.",
  hu: "Minden alkalmazott legfeljebb heti három napot dolgozhat otthonról, ha a vezetője egyetért ezzel és ez nem okoz gondot.",
  tr: "Tüm çalışanlar, yöneticileri kabul ederse haftada en fazla üç gün evden çalışabilir ve bu daha sonra değil hemen olur.",
  ru: "Все сотрудники могут работать из дома до трёх дней в неделю, если их руководитель согласен и это не мешает другим.",
  uk: "Усі працівники можуть працювати з дому до трьох днів на тиждень, якщо їхній керівник згоден і це не заважає іншим.",
  zh: "所有员工每周最多可以在家工作三天,前提是他们的经理同意。",
  ja: "すべての従業員は、上司が同意すれば、週に最大3日まで自宅で勤務できます。",
  ko: "모든 직원은 관리자가 동의하는 경우 일주일에 최대 3일까지 집에서 일할 수 있습니다. 자세한 내용은 규정을 참조하십시오.",
  el: "Όλοι οι εργαζόμενοι μπορούν να εργάζονται από το σπίτι έως τρεις ημέρες την εβδομάδα.",
  ar: "يمكن لجميع الموظفين العمل من المنزل حتى ثلاثة أيام في الأسبوع بشرط موافقة مديرهم",
};

for (const [language, text] of Object.entries(sentences)) {
  test(`one sentence is enough for ${language}`, () => assert.equal(detectLanguage(text), language));
}

const unknown: readonly [title: string, text: string][] = [
  ["short text", "Travel policy"],
  ["numbers", "- a: 1; b: 2\n".repeat(50)],
  ["names", "Anna Schmidt, Bob Miller, Carla Rossi, Dimitri Iwanow, Eva Novak, Felix Weber, Gina Conti, Hugo Lange"],
  ["code", `\`\`\`js\n${"for (const it of the.list) { if (it) return this; }\n".repeat(20)}\`\`\``],
  ["two languages", `${sentences["de"]} ${sentences["fr"]} ${sentences["de"]} ${sentences["fr"]}`],
];

for (const [title, text] of unknown) {
  test(`no language is told for ${title}`, () => assert.equal(detectLanguage(text), ""));
}
