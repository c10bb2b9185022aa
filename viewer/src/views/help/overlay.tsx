/** The keys, on one page. */

import type { JSX } from "preact";
import type { Command } from "../../state/keys.ts";
import { Key } from "../../ui/badge.tsx";
import { Dialog } from "../../ui/dialog.tsx";

export function HelpOverlay({ commands, version, close }: { commands: readonly Command[]; version: string; close: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" close={close} wide>
      <div class="help">
        {(["Move", "Look", "Do"] as const).map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {commands.filter((each) => each.group === group && each.shown.length > 0).map((each) => (
                <div key={each.text}>
                  <dt>
                    {each.shown.map((key) => (
                      <Key key={key}>{key}</Key>
                    ))}
                  </dt>
                  <dd>{each.text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="quiet-text">Everything that is selected, filtered and compared is in the address: send it to a colleague who has the same recording. weft {version}</p>
    </Dialog>
  );
}
