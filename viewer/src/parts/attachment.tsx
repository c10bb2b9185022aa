/** Bytes beside a message. Images of safe kinds are shown; everything else can only be saved [W-09]. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attachment as Blob } from "../api/types.gen.ts";
import { bytes } from "../model/times.ts";
import { source } from "../state/session.ts";
import { Icon } from "../ui/icons.tsx";
import { Text } from "../ui/text.tsx";

export function Attachment({ sourceId, blob }: { sourceId: string; blob: Blob }): JSX.Element {
  const [isBroken, setBroken] = useState(false);
  const address = source().blobAddress(sourceId, blob.id);
  const name = blob.name ?? (blob.is_image ? "image" : "document");
  return (
    <figure class="attachment">
      {blob.is_image && address !== null && !isBroken ? (
        <img src={address} alt={name} loading="lazy" decoding="async" onError={() => setBroken(true)} />
      ) : null}
      <figcaption>
        <Icon name={blob.is_image ? "image" : "file"} size={14} />
        <span class="attachment-name">
          <Text text={name} />
        </span>
        {blob.size_bytes === null ? null : (
          <span class="quiet-text">
            <Text text={blob.media_type} /> · {bytes(blob.size_bytes)}
          </span>
        )}
        {isBroken ? <span class="quiet-text">could not be shown</span> : null}
        {address === null || source().exported !== null ? null : (
          <a class="button quiet small" href={address} download={name}>
            <Icon name="download" size={14} />
            Save
          </a>
        )}
      </figcaption>
    </figure>
  );
}
