/** A component that renders again only if one of its properties is another object or value. */
import { Component, type ComponentType, createElement } from 'preact';

export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      return [...keys].some((key) => this.props[key as keyof P] !== next[key as keyof P]);
    }
    override render(props: P) {
      return createElement(Inner as ComponentType<object>, props);
    }
  } as unknown as ComponentType<P>;
}
