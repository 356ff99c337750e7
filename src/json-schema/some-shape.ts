import type { Shape } from './schema-shape.js'

/** Is the test true of a shape, or of one anywhere in it? */
export function someShape(shape: Shape, test: (shape: Shape) => boolean): boolean {
  const seen = new Set<Shape>()
  const visit = (one: Shape): boolean => {
    if (seen.has(one)) return false
    seen.add(one)
    return test(one) || partsOf(one).some(visit)
  }
  return visit(shape)
}

function partsOf(shape: Shape): readonly Shape[] {
  switch (shape.kind) {
    case 'object': {
      const named = [...shape.members, ...shape.patterns].map((part) => part.shape)
      return shape.rest === null ? named : [...named, shape.rest]
    }
    case 'array':
      return [shape.items]
    case 'tuple':
      return shape.items.map((item) => item.shape)
    case 'choice':
      return shape.options.map((option) => option.shape)
    default:
      return []
  }
}
