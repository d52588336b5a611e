import { analyze } from "../analyzer.ts";

/**
 * Words of everyday work that mean nearly the same, in English and German. A question has one of them and the document another, and no
 * model that is learnt from a few documents could know it. A line is a group; a word may be in several.
 */
const GROUPS = `
vacation holiday holidays leave pto urlaub urlaubstage ferien freizeit
salary pay wage wages paid payroll gehalt lohn verdienst vergutung entgelt bezahlung
employee employees staff worker colleague personnel mitarbeiter mitarbeiterin beschaftigte angestellte arbeitnehmer personal kollege
company firm employer business organisation firma unternehmen arbeitgeber betrieb
boss manager supervisor superior lead vorgesetzter vorgesetzte chef chefin leitung
sick ill illness sickness krank krankheit erkrankung krankmeldung
doctor medical physician arzt arztin arztlich attest
dismiss dismissal terminate termination notice resign quit kundigen kundigung kundigungsfrist
probation probationary trial probezeit
home remote remotely telework homeoffice heimarbeit mobil zuhause
child children baby kid kind kinder nachwuchs
parental maternity paternity elternzeit mutterschutz vaterschaft
father fathers dad vater
wedding marriage marry married hochzeit heirat heiraten
death bereavement funeral tod todesfall beerdigung
move moving relocation umzug umziehen
overtime uberstunden mehrarbeit
training course courses education seminar fortbildung weiterbildung schulung kurs
travel trip journey reise dienstreise reisen
expense expenses cost costs spesen kosten auslagen
refund refunded reimburse reimbursed reimbursement repay erstatten erstattung ersetzt ubernommen
receipt invoice bill beleg quittung rechnung
train rail bahn zug
flight fly plane flug fliegen flugzeug
car vehicle auto wagen fahrzeug pkw
bike bicycle fahrrad rad jobrad dienstrad
meal meals food lunch dinner breakfast essen mahlzeit mittagessen verpflegung
canteen cafeteria kantine
gift gifts present presents geschenk geschenke
password passphrase passwort kennwort
laptop notebook computer pc device rechner gerat
phone telephone mobile smartphone handy telefon
badge pass card ausweis karte
fire emergency brand brandfall notfall feuer
guest guests visitor visitors besucher gast gaste
park parking parken parkplatz stellplatz
office workplace desk buro arbeitsplatz
begin begins start starts launch launches beginn beginnen anfangen starten startet
end ends finish finishes expire expires stop ende enden endet ablaufen
buy buys purchase bought kaufen kauf gekauft
send sends submit hand transfer schicken senden einreichen ubermitteln
remove removes delete deletes erase purge prune discard entfernen loschen loscht geloscht
make create creates set add anlegen erstellen erzeugen einrichten
change changes modify adjust edit andern anpassen verstellen umstellen
replace replaced change changes exchange swap renew ersetzen austauschen wechseln tauschen
clean cleans cleaning wash wipe rinse reinigen reinigung putzen saubern spulen
repair repairs fix mend service reparieren reparatur
broken damaged faulty defective defect fault kaputt defekt beschadigt storung
error fault problem failure issue fehler problem storung
warranty guarantee garantie gewahrleistung
machine device appliance unit equipment product maschine gerat produkt
machine apparat anlage
weight weigh heavy gewicht schwer wiegt kg
long length lang lange
size dimensions measurements abmessungen masse grosse
wide width breit breite
high height tall hoch hohe
deep depth tief tiefe
loud noise noisy volume laut lautstarke gerausch
power wattage watt leistung
electricity current voltage strom spannung
empty drain leeren entleeren leer
fill refill fullen auffullen
hot heat heats warm heiss erhitzen aufheizen
cold cool kalt kuhl
switch turn press push drucken schalten einschalten
dispose disposal discard throw recycle recycling entsorgen entsorgung wegwerfen wertstoffhof
recommend recommended suggest suggested advise empfehlen empfohlen
store stored keep kept retain retained retention aufbewahren lagern aufbewahrung
largest biggest maximum max most grosste maximal hochstens
smallest minimum min least kleinste minimal mindestens
allowed permitted may can erlaubt zulassig gestattet darf
forbidden prohibited banned verboten untersagt
required mandatory necessary compulsory erforderlich pflicht notwendig
free gratis kostenlos kostenfrei umsonst
money budget allowance amount sum geld betrag zuschuss
bonus pramie
insurance insured versicherung versichert
contact reach ansprechpartner ansprechpartnerin kontakt zustandig
responsible charge zustandig verantwortlich
report reports tell inform notify melden mitteilen bescheid
approve approves approval approved authorise consent permission genehmigen genehmigung zustimmung freigabe
request requests apply application antrag beantragen
often frequently haufig regelmassig
yearly annual annually year jahrlich jahr
monthly month monatlich monat
weekly week wochentlich woche
daily day taglich tag
night nightly nacht nachtlich
file files document datei dateien dokument
folder directory ordner verzeichnis
setting settings option options configuration configure config einstellung einstellungen konfiguration
version release releases ausgabe
update upgrade upgrading aktualisieren aktualisierung
install installation setup installieren einrichtung
memory ram arbeitsspeicher speicher
disk drive storage festplatte speicher
encrypt encrypted encryption verschlusselt verschlusselung
restore recover recovery wiederherstellen wiederherstellung
backup backups snapshot sicherung datensicherung
user users account benutzer konto nutzer
limit maximum quota cap grenze obergrenze
speed fast quick quickly schnell geschwindigkeit
slow slowly langsam
price charge fee rate preis gebuhr tarif
customer customers client kunde kunden
open opens opening geoffnet offnen offnungszeiten
closed close geschlossen schliessen
located location place find ort standort lage
old used alt alten gebraucht
new newcomer starter neu neue
`;

const RELATED = new Map<string, Set<string>>();
/** As they are written, for a search. */
const WRITTEN = new Map<string, string[]>();
for (const line of GROUPS.trim().split("\n")) {
  const group = new Set(line.split(" ").flatMap(analyze));
  for (const word of group) WRITTEN.set(word, [...(WRITTEN.get(word) ?? []), ...line.split(" ")]);
  for (const word of group) {
    const known = RELATED.get(word) ?? new Set<string>();
    for (const other of group) if (other !== word) known.add(other);
    RELATED.set(word, known);
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the words, as the index spells them, that mean nearly the same as this one. */
export function relatedWords(word: string): ReadonlySet<string> {
  return RELATED.get(word) ?? NONE;
}

/** More would bury the question. */
const MOST_WORDS = 24;

/** Returns a question in other words, for a search that found nothing by its own; "" if there are none. */
export function inOtherWords(question: string): string {
  const others = [...new Set(analyze(question))].flatMap((word) => WRITTEN.get(word) ?? []);
  return others.length === 0 ? "" : `${question} ${[...new Set(others)].slice(0, MOST_WORDS).join(" ")}`;
}
