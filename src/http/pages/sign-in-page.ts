import { html } from "hono/html";
import { type Frame, type Html, layout } from "./layout.ts";

export interface SignInModel {
  /** Where to go afterwards. */
  readonly next: string;
  /** The problem with the last attempt; "" for none. */
  readonly problem: string;
}

export function signInPage({ next, problem }: SignInModel, frame: Frame): Html {
  return layout({
    frame,
    title: "Sign in · lockstep",
    body: html`<section class="panel stack sign-in">
<p class="wordmark"><img src="/assets/favicon.svg" alt="" width="28" height="28">lockstep</p>
<h1>Sign in</h1>
<form class="stack" action="/sign-in" method="post">
<input type="hidden" name="next" value="${next}">
<div class="field"><label for="key"><span>API key</span></label><input id="key" type="password" name="key" required autofocus autocomplete="current-password" spellcheck="false" ${problem === "" ? "" : html`aria-invalid="true"`} aria-describedby="key-hint${problem === "" ? "" : " key-problem"}"><small id="key-hint">It begins with lk_ and was shown once, when it was made: by an administrator, or with <code>lockstep keys add</code>.</small></div>
${problem === "" ? "" : html`<p class="form-error" id="key-problem" role="alert">${problem}</p>`}
<div class="form-end"><button class="primary">Sign in</button></div>
</form>
<p class="quiet">Everyone who may query sees everything that was crawled: permissions of SharePoint are not carried along.</p>
</section>`,
  });
}
