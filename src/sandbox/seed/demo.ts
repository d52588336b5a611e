/** A question with one right answer in the seeded documents, and the document that gives it. */
interface DemoQuestion {
  readonly question: string;
  readonly expectedPath: string;
}

export const demoQuestions: readonly DemoQuestion[] = [
  {
    question: "How much may a hotel night in Copenhagen cost?",
    expectedPath: "/sites/demo/Shared Documents/Policies/Travel.docx",
  },
  {
    question: "What torque does the rear axle nut of the Dray need?",
    expectedPath: "/sites/demo/Shared Documents/Engineering/Dray Assembly Manual.pdf",
  },
  {
    question: "How long did the last restore test of the ERP system take?",
    expectedPath: "/sites/demo/Shared Documents/IT/Backup and Recovery.md",
  },
];

/** One whose answer is on the company's web site. */
export const siteQuestion: DemoQuestion = {
  question: "How do I pair a spare key with the lock?",
  expectedPath: "/guides/keys",
};

/** What lies on the company's shared drive, by path. */
export const demoFolderFiles: Readonly<Record<string, string>> = {
  "Opening hours.txt":
    "The workshop is open from Monday to Friday, 7:30 to 16:30. On the last Friday of a month it closes at noon for the inventory.\n",
  "Checklists/Bleeding the brakes.md": `# Bleeding the brakes

1. Put the Dray on the stand and take out the rear wheel.
2. Fill the syringe with 20 ml of mineral oil. Brake fluid of cars destroys the seals.
3. Open the bleed port a quarter of a turn, press until no bubbles come, and close it with 4 Nm.
`,
  "booth notes.md": `# Painting a frame

Wear the mask with the brown filter. Two thin coats are better than a thick one, ten minutes apart.

A painted frame dries in the spray booth for 48 hours at 22 °C; before that it must not be handled or stacked. The fan runs until the last frame is out.
`,
};

/** What somebody tidies up between two crawls. */
export const demoMove = { from: "booth notes.md", to: "Checklists/Painting a frame.md" } as const;

/** One whose answer is in the file that was moved. */
export const folderQuestion: DemoQuestion = {
  question: "How long does a painted frame dry in the spray booth?",
  expectedPath: demoMove.to,
};
