import { entriesOf, type SchemaPlace, SchemaReader } from '../../../json-schema/input-schema.js'
import { IntegerJudge } from '../../../json-schema/integer-verdict.js'
import type { Json, SchemaStore } from '../../../json-schema/schema-refs.js'
import { twinName } from '../../../json-schema/twins.js'
import { AlternativeChooser } from './alternatives.js'
import { everyPart, type Said, type SaidWhole, saidOfItems, saidOfMember, wholeOf } from './said-of-place.js'
import type { WideMember, WideNode, WideTwin } from './wide-node.js'
import { WideSurvey } from './wide-survey.js'

/** Compiles schemas to nodes; what it has compiled it knows. */
export class PlanCompiler {
  readonly #reader: SchemaReader
  readonly #judge: IntegerJudge
  readonly #survey: WideSurvey
  readonly #chooser: AlternativeChooser
  readonly #nodes = new Map<string, WideNode>()

  constructor(shared: SchemaStore) {
    this.#reader = new SchemaReader(shared)
    this.#judge = new IntegerJudge(this.#reader)
    this.#survey = new WideSurvey(this.#reader, this.#judge)
    this.#chooser = new AlternativeChooser(this.#reader, this.#judge, shared, (firm) =>
      this.#node({ firm, loose: [] }),
    )
  }

  /** The node of a whole schema; `null` if there is no 64-bit integer in it. */
  compile(schema: Json): WideNode | null {
    const place = this.#reader.place(schema, schema)
    return place === null ? null : this.#node({ firm: [place], loose: [] })
  }

  #node(said: Said): WideNode | null {
    if (!this.#survey.isWithin(said)) return null
    const key = `${idsOf(said.firm)}|${idsOf(said.loose)}`
    const known = this.#nodes.get(key)
    if (known !== undefined) return known
    // Known before it is compiled, for schemas that contain themselves.
    const node = { twinned: this.#survey.isTwinned(said) } as WideNode
    this.#nodes.set(key, node)
    const whole = wholeOf(this.#reader, said)
    return Object.assign(node, this.#scalar(said), this.#object(whole), this.#array(whole), {
      choose: this.#choose(whole),
    })
  }

  #scalar(said: Said): Pick<WideNode, 'range' | 'certain' | 'text' | 'null'> {
    const { range, number, text, null: empty } = this.#judge.judge(said.firm)
    return {
      range: this.#survey.range(said),
      certain: range !== null && !number,
      text: range === null || text,
      null: empty,
    }
  }

  #object(whole: SaidWhole): Pick<WideNode, 'members' | 'names' | 'nodeOf'> {
    const properties = everyPart(whole).flatMap(({ schema }) => entriesOf(schema.properties))
    const names = new Set(properties.map(([name]) => name))
    const members = [...names].map((name) => this.#member(whole, name, names))
    return { members: members.filter((member) => member !== null), names, nodeOf: this.#others(whole) }
  }

  #member(whole: SaidWhole, name: string, names: ReadonlySet<string>): WideMember | null {
    const said = saidOfMember(this.#reader, whole, name)
    const node = this.#node(said)
    return node === null ? null : { name, node, twin: this.#twin(whole, name, said, names) }
  }

  #twin(whole: SaidWhole, name: string, said: Said, names: ReadonlySet<string>): WideTwin | null {
    if (!this.#survey.isTwinned(said)) return null
    const twin = twinName(name)
    const saidOfTwin = saidOfMember(this.#reader, whole, twin)
    if (names.has(twin) && this.#survey.isTwinned(saidOfTwin)) return null
    const certain = this.#survey.isTwinned({ firm: said.firm, loose: [] })
    // In some alternative it may be a member of its own.
    if (!certain && names.has(twin)) return null
    const demanded = whole.firm.some(({ schema }) => listOf(schema.required).includes(twin))
    return { name: twin, certain, demanded }
  }

  /** What is declared for names that are not. */
  #others(whole: SaidWhole): WideNode['nodeOf'] {
    const open = everyPart(whole).flatMap((part) => this.#reader.ofOthers(part))
    if (!open.some((place) => this.#survey.reaches(place))) return null
    const patterns = everyPart(whole).flatMap((part) => this.#reader.patterns(part))
    const known = new Map<string, WideNode | null>()
    return (name) => {
      const matches = patterns.map((pattern) => (pattern.test(name) ? '1' : '0')).join('')
      const before = known.get(matches)
      if (before !== undefined) return before
      const node = this.#node(saidOfMember(this.#reader, whole, name))
      known.set(matches, node)
      return node
    }
  }

  #array(whole: SaidWhole): Pick<WideNode, 'itemAt' | 'unique'> {
    const { first, others } = saidOfItems(this.#reader, whole)
    const nodes = first.map((said) => this.#node(said))
    const rest = this.#node(others)
    const none = rest === null && nodes.every((node) => node === null)
    return {
      itemAt: none ? null : (index) => (index < nodes.length ? (nodes[index] ?? null) : rest),
      unique: everyPart(whole).some(({ schema }) => schema.uniqueItems === true),
    }
  }

  #choose({ firm, groups }: SaidWhole): WideNode['choose'] {
    const deciding = groups.filter((group) =>
      group.some(({ place }) => place !== null && this.#survey.reaches(place)),
    )
    return deciding.length === 0 ? null : this.#chooser.among(firm, deciding)
  }
}

function listOf(required: Json | undefined): readonly Json[] {
  return Array.isArray(required) ? required : []
}

function idsOf(places: readonly SchemaPlace[]): string {
  return places.map((place) => place.id).join(',')
}
