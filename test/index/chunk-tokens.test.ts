// The number of tokens is estimated well enough in every language.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { estimateTokens } from "../../src/index/estimate-tokens.ts";

/** The same greeting in many languages, with the count that OpenAI published for its cl100k_base tokenizer. */
const COUNTED: readonly (readonly [language: string, tokens: number, text: string])[] = [
  ["English", 27, "Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!"],
  ["German", 34, "Hallo, mein Name is GPT-4o. Ich bin ein neues KI-Sprachmodell. Es ist schön, dich kennenzulernen."],
  ["Turkish", 39, "Merhaba, benim adım GPT-4o. Ben yeni bir dil modeli türüyüm, tanıştığımıza memnun oldum!"],
  ["Vietnamese", 46, "Xin chào, tên tôi là GPT-4o. Tôi là một loại mô hình ngôn ngữ mới, rất vui được gặp bạn!"],
  ["Russian", 39, "Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!"],
  ["Arabic", 53, "مرحبًا، اسمي جي بي تي-4o. أنا نوع جديد من نموذج اللغة، سررت بلقائك!"],
  ["Persian", 61, "سلام، اسم من جی پی تی-۴او است. من یک نوع جدیدی از مدل زبانی هستم، از ملاقات شما خوشبختم!"],
  ["Urdu", 82, "ہیلو، میرا نام جی پی ٹی-4o ہے۔ میں ایک نئے قسم کا زبان ماڈل ہوں، آپ سے مل کر اچھا لگا!"],
  ["Hindi", 90, "नमस्ते, मेरा नाम जीपीटी-4o है। मैं एक नए प्रकार का भाषा मॉडल हूँ। आपसे मिलकर अच्छा लगा!"],
  ["Tamil", 116, "வணக்கம், என் பெயர் ஜிபிடி-4o. நான் ஒரு புதிய வகை மொழி மாடல். உங்களை சந்தித்ததில் மகிழ்ச்சி!"],
  ["Telugu", 159, "నమస్కారము, నా పేరు జీపీటీ-4o. నేను ఒక్క కొత్త రకమైన భాషా మోడల్ ని. మిమ్మల్ని కలిసినందుకు సంతోషం!"],
  ["Chinese", 34, "你好，我的名字是GPT-4o。我是一种新型的语言模型，很高兴见到你!"],
  ["Japanese", 37, "こんにちは、私の名前はGPT-4oです。私は新しいタイプの言語モデルです。初めまして！"],
  ["Korean", 45, "안녕하세요, 제 이름은 GPT-4o입니다. 저는 새로운 유형의 언어 모델입니다, 만나서 반갑습니다!"],
];

for (const [language, tokens, text] of COUNTED) {
  test(`tokens of ${language} text are estimated within a quarter`, () => {
    const ratio = estimateTokens(text) / tokens;
    assert.ok(ratio > 0.75 && ratio < 1.25, `${ratio}`);
  });
}

test("four letters make a token, three figures, one ideograph, half an emoji", () => {
  assert.equal(estimateTokens("abcd efg"), 2);
  assert.equal(estimateTokens("12345678"), 3);
  assert.equal(estimateTokens("漢字かな한글"), 6);
  assert.equal(estimateTokens("🤚"), 2);
});

test("property: parts weigh as much as the whole, and nothing weighs more than two a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (a, b) => {
      assert.equal(estimateTokens(a) + estimateTokens(b), estimateTokens(a + b));
      assert.ok(estimateTokens(a) <= 2 * a.length);
    }),
  );
});
