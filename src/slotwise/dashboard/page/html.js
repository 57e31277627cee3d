// Preact with htm: `html` makes elements from templates. All values are text, never HTML.
import { Component, h, render } from "preact";
import htm from "htm";

export { Component, render };
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export const html = htm.bind(h);

// A component that is drawn again only if one of its properties is another one.
export function unchanging(draw) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const now = this.props;
      return Object.keys({ ...now, ...next }).some((name) => now[name] !== next[name]);
    }
    render(properties) {
      return draw(properties);
    }
  };
}
