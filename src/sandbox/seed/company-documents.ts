/** A document of the seeded company: where it lies, which text it is made of, when it was last changed. */
export interface SeedDocument {
  /** From the host's root. The extension decides the format. */
  readonly path: string;
  /** A file in `texts/`, or "logo" and "drawings" for the two that are no text. */
  readonly text: string;
  readonly modifiedAt: string;
}

const DOCUMENTS = "/sites/demo/Shared Documents";
const CONTRACTS = "/sites/demo/Contracts";
const PEOPLE = "/sites/hr/Shared Documents";

function document(path: string, text: string, modifiedAt: string): SeedDocument {
  return { path, text, modifiedAt };
}

export const companyDocuments: readonly SeedDocument[] = [
  document(`${DOCUMENTS}/Policies/Travel.docx`, "travel", "2025-12-15T10:12:31Z"),
  document(`${DOCUMENTS}/Policies/Remote Work.docx`, "remote-work", "2025-08-20T14:40:02Z"),
  document(`${DOCUMENTS}/Policies/Expense Reimbursement.pdf`, "expenses", "2025-12-15T10:31:55Z"),
  document(`${DOCUMENTS}/Policies/Code of Conduct.pdf`, "conduct", "2025-03-03T16:05:00Z"),
  document(`${DOCUMENTS}/Policies/Information Security.docx`, "infosec", "2025-09-24T08:17:44Z"),
  document(`${DOCUMENTS}/Policies/Data Retention.md`, "retention", "2025-06-26T12:00:09Z"),
  document(`${DOCUMENTS}/HR/Employee Handbook.docx`, "handbook", "2026-01-05T09:30:00Z"),
  document(`${DOCUMENTS}/HR/Parental Leave.docx`, "parental", "2025-11-18T13:22:10Z"),
  document(`${DOCUMENTS}/HR/Onboarding Checklist.md`, "onboarding", "2026-01-12T07:58:41Z"),
  document(`${DOCUMENTS}/HR/Benefits Overview.html`, "benefits", "2026-01-07T15:10:26Z"),
  document(`${DOCUMENTS}/HR/Überstundenregelung.docx`, "ueberstunden", "2025-03-28T11:45:13Z"),
  document(`${DOCUMENTS}/Engineering/Dray Assembly Manual.pdf`, "dray-manual", "2026-01-15T06:50:37Z"),
  document(`${DOCUMENTS}/Engineering/Battery Pack BP-625 Specification.pdf`, "battery", "2025-09-22T13:03:18Z"),
  document(`${DOCUMENTS}/Engineering/Firmware Release Process.md`, "firmware", "2026-02-04T10:20:50Z"),
  document(`${DOCUMENTS}/Engineering/Test Reports/Frame Fatigue Dray 2026.docx`, "fatigue", "2025-11-28T15:44:29Z"),
  document(`${DOCUMENTS}/Engineering/Motor Controller Error Codes.html`, "error-codes", "2026-01-22T09:09:09Z"),
  document(
    `${DOCUMENTS}/Engineering/Meeting Notes/2026-02-12 Design Review Skerry.md`,
    "skerry-review",
    "2026-02-13T08:31:00Z",
  ),
  document(`${DOCUMENTS}/Engineering/Dray CAD 2026-03.zip`, "drawings", "2026-03-02T17:20:05Z"),
  document(`${DOCUMENTS}/Finance/Annual Report 2025.pdf`, "annual-report", "2026-03-27T12:15:00Z"),
  document(`${DOCUMENTS}/Finance/Budget 2026.docx`, "budget", "2025-12-12T09:02:47Z"),
  document(`${DOCUMENTS}/Finance/Purchasing Guideline.docx`, "purchasing", "2025-12-16T14:28:33Z"),
  document(`${DOCUMENTS}/Finance/Chart of Accounts.txt`, "accounts", "2026-01-02T08:00:21Z"),
  document(`${DOCUMENTS}/Sales/Price List 2026.html`, "price-list", "2026-01-26T16:36:12Z"),
  document(`${DOCUMENTS}/Sales/Dealer Programme.docx`, "dealers", "2025-12-19T10:10:10Z"),
  document(`${DOCUMENTS}/Sales/Warranty Terms.pdf`, "warranty", "2025-01-02T09:41:58Z"),
  document(`${DOCUMENTS}/Sales/It's #1 & 100% + 😀.docx`, "campaign", "2026-02-27T11:54:06Z"),
  document(`${DOCUMENTS}/Sales/カーゴバイク市場調査.docx`, "japan", "2026-03-06T05:12:40Z"),
  document(`${DOCUMENTS}/Sales/Tidewheel Logo.png`, "logo", "2024-05-14T13:37:00Z"),
  document(`${DOCUMENTS}/IT/VPN Setup.txt`, "vpn", "2026-03-02T09:25:14Z"),
  document(`${DOCUMENTS}/IT/Backup and Recovery.md`, "backup", "2026-01-26T18:07:52Z"),
  document(`${DOCUMENTS}/IT/Service Desk FAQ.html`, "helpdesk", "2026-02-09T07:45:30Z"),
  document(`${CONTRACTS}/Suppliers/Supply Agreement Nordlicht Batteries.docx`, "nordlicht", "2025-10-30T14:00:00Z"),
  document(`${CONTRACTS}/Lease Bremen Plant.pdf`, "lease", "2025-08-18T10:48:27Z"),
  document(`${CONTRACTS}/Customers/Framework Agreement City of Utrecht.docx`, "utrecht", "2026-03-04T12:33:19Z"),
  document(`${PEOPLE}/Hiring/Interview Guide.docx`, "interviews", "2026-02-17T09:15:48Z"),
];
