import type { RecordedStage } from "./stage.ts";

/** Something that happens to the product, the same in every run. Its name is that of the folder with the recording. */
export interface History {
  readonly name: string;
  /** Its clock is far from that of the machine: for a source that tells times of its own. */
  readonly isApart?: boolean;
  play(stage: RecordedStage): Promise<void>;
}
