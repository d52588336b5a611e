// Texts are decoded by their mark, their declaration or their bytes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPage } from "../../src/extract/web/read-page.ts";
import { encodeText } from "./encode-text.ts";
import { extractFile } from "./extract-file.ts";

/** Short texts as people have them: a line, a heading, a few cells. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "windows-1251": [
    "Привет, мир!",
    "Контакты",
    "Правила возврата товара",
    "Фамилия;Город\nКузнецов;Самара\nОрлова;Тверь",
    "Доставка по всей стране за 3 дня, оплата картой или наличными.",
    "Графік роботи відділень",
    "Работно време на офиса",
  ],
  "koi8-r": ["Добрый вечер", "Расписание поездов на завтра", "Код;Цвет\n17;красный\n18;зелёный", "Ошибка чтения диска"],
  ibm866: ["Отчёт за квартал", "Таблица умножения", "Остаток;Склад\n12;Южный"],
  "iso-8859-5": ["Закон о защите потребителей", "Погода в горах сегодня"],
  shift_jis: [
    "お知らせ",
    "会社概要",
    "商品名,価格\nりんご,120\nみかん,80",
    "本日の営業は終了しました。",
    "テレビ番組表",
    "使い方ガイド",
  ],
  "euc-jp": ["日本語のページです。", "検索結果", "サイトマップ", "名前,年齢\n山田太郎,42"],
  gb18030: ["欢迎光临", "产品介绍与售后服务", "城市,人口\n上海,2400\n成都,1600", "请输入您的用户名和密码"],
  big5: ["歡迎光臨", "公司簡介", "產品,價格\n蘋果,30\n香蕉,20", "請輸入您的帳號與密碼", "荷蘭"],
  "euc-kr": ["환영합니다", "이용 안내", "상품,가격\n사과,1000\n바나나,2000", "오늘 날씨는 맑겠습니다."],
  "windows-1252": [
    "Café crème",
    "Über uns",
    "Información de envío",
    "Straße;Ort\nHauptstraße 5;Düsseldorf",
    "Les délais de livraison sont indiqués à titre d’exemple.",
    "Smörgåsbord på fredag",
    "Preço à vista: 10 €",
    "naïve",
  ],
  "windows-1250": [
    "Změna otevírací doby",
    "Regulamin świadczenia usług",
    "Kérdések és válaszok a működésről",
    "Město;Počet\nOlomouc;12\nČeské Budějovice;7",
    "Często zadawane pytania",
  ],
  "iso-8859-2": ["Jak zgłosić reklamację", "Školní řád platný od září"],
  "windows-1253": ["Συχνές ερωτήσεις", "Όροι χρήσης", "Πόλη;Τιμή\nΒόλος;12"],
  "windows-1254": ["Sıkça sorulan sorular", "Kargo ücreti ve teslimat süresi", "Şehir;Nüfus\nMuş;80"],
  "windows-1255": ["שאלות נפוצות", "תנאי שימוש באתר", "עיר;מחיר\nאילת;12"],
  "windows-1256": ["الأسئلة الشائعة", "سياسة الخصوصية", "المنتج;السعر\nتفاح;12"],
  "windows-1257": ["Dažnai užduodami klausimai", "Biežāk uzdotie jautājumi", "estų"],
  "windows-874": ["คำถามที่พบบ่อย", "นโยบายความเป็นส่วนตัว"],
};

/** Single words that are as likely in another encoding. */
const MISSED: ReadonlySet<string> = new Set(["windows-1257 'estų'", "big5 '荷蘭'"]);

const FORMS: readonly [fileType: string, wrap: (text: string) => string][] = [
  ["txt", (text) => text],
  ["csv", (text) => text],
  ["html", (text) => `<!doctype html><html><head><title>t</title></head><body><p>${text}</p></body></html>`],
];

test("short texts in the encodings of before are read without being told which", async () => {
  const missed: string[] = [];
  let count = 0;
  for (const [encoding, texts] of Object.entries(TEXTS)) {
    for (const text of texts) {
      count += 1;
      const words = text.split(/[\s,;]+/);
      for (const [fileType, wrap] of FORMS) {
        const { markdown } = await extractFile(fileType, encodeText(wrap(text), encoding));
        if (words.every((word) => markdown.includes(word))) continue;
        missed.push(`${encoding} '${text}'`);
        break;
      }
    }
  }
  assert.ok(count >= 40 && Object.keys(TEXTS).length >= 12);
  assert.deepEqual(new Set(missed), MISSED);
  assert.ok(MISSED.size * 20 <= count, `${MISSED.size} of ${count} is more than 5 %`);
});

test("Japanese in seven bits, and UTF-8 with a broken byte, are told", async () => {
  const bytes = Buffer.from("1b24423d2a4e3b1b2842", "hex");
  assert.equal((await extractFile("txt", bytes)).markdown, "終了");
  const broken = Buffer.concat([
    Buffer.from("Größe und Gewicht der Möbel "),
    Buffer.from([0xff]),
    Buffer.from(" über"),
  ]);
  assert.equal((await extractFile("txt", broken)).markdown, "Größe und Gewicht der Möbel \ufffd über");
});

test("what a page declares is honoured however long its head is", async () => {
  const style = `<style>${"a { color: red; }\n".repeat(2000)}</style>`;
  const text = "ж";
  for (const declaration of [
    `${style}<meta charset="windows-1251">`,
    `<!-- <meta charset="koi8-r"> -->${style}<META http-equiv=Content-Type content='text/html; charset=windows-1251'>`,
    `<script>"<meta charset='koi8-r'>"</script>${style}<meta name="a"><meta charset=windows-1251 />`,
  ]) {
    const page = `<html><head>${declaration}</head><body><p>${text}</p></body></html>`;
    assert.equal((await extractFile("html", encodeText(page, "windows-1251"))).markdown, text);
    const { markdown } = readPage({
      ...{ form: "html", bytes: encodeText(page, "windows-1251"), contentType: "text/html", url: "https://a.example/" },
    });
    assert.equal(markdown, text);
  }
});

test("text that begins behind a long head is guessed at all the same", async () => {
  const page = `<html><head><script>${"var a = 1;\n".repeat(3000)}</script></head><body><p>Правила</p></body></html>`;
  assert.equal((await extractFile("html", encodeText(page, "windows-1251"))).markdown, "Правила");
});
