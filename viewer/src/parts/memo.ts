/** Draw again only when a property changes: text that streams in need not draw what came before it. */

import { Component, h, type ComponentType, type FunctionComponent } from "preact";

export function memo<Props extends object>(Inner: FunctionComponent<Props>): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      return Object.keys({ ...before, ...after }).some((name) => before[name] !== after[name]);
    }

    override render(): preact.ComponentChild {
      return h(Inner as ComponentType<object>, this.props);
    }
  };
}
