/** A question with one right answer in the seeded documents, and the document that gives it. */
export interface DemoQuestion {
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
