import { type FormEvent, useState } from 'react';
import { type AnswerOf, api } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { Panel, PanelLink } from '../parts/panel.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useResource } from '../resource.ts';
import { linkTo, pushParameters, useParameter } from '../route.ts';
import { useIsUnboundAdmin } from '../session.ts';

type Skill = AnswerOf<'getSkills'>['skills'][number];

const skillsPath = '/api/v1/skills';
const skillPath = (id: string) => `${skillsPath}/${encodeURIComponent(id)}`;
/** No category can have this ID. */
const newSkill = '+';

const columns: readonly Column<Skill>[] = [
  {
    id: 'name',
    name: 'Category',
    width: '16rem',
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => (
      <PanelLink parameter="category" value={id}>
        {name}
      </PanelLink>
    ),
  },
  {
    id: 'tools',
    name: 'Tools',
    width: '6rem',
    isNumber: true,
    sortBy: ({ tool_count: tools }) => tools,
    cell: ({ id, tool_count: tools }) => (
      <a href={`${linkTo('tools')}?skill=${encodeURIComponent(id)}`}>{tools.toLocaleString('en-US')}</a>
    ),
  },
  {
    id: 'description',
    name: 'Description',
    onlyWide: true,
    cell: ({ description }) => <span className="dim">{description}</span>,
  },
];

/** The categories (skills) that tools are sorted into: a search prefers the tools of the category that fits. */
export function CategoriesView() {
  const isAdmin = useIsUnboundAdmin();
  const { data, error, loading, reload } = useResource<{ skills: Skill[] }>(skillsPath, {
    on: ['catalog.changed'],
    gather: 2_000,
  });
  const [query] = useParameter('q');
  const [open, setOpen] = useParameter('category');
  const skills = data?.skills ?? [];
  const words = query.toLowerCase();
  const rows = skills.filter(({ id, name, description }) =>
    `${id} ${name} ${description}`.toLowerCase().includes(words),
  );
  const shown = open === newSkill ? emptySkill : skills.find(({ id }) => id === open);
  return (
    <>
      <p className="lead">
        Tools are sorted into categories by what they do. A search prefers the tools of the category that fits the task;
        other tools remain visible.
      </p>
      <Failure error={error} retry={reload} />
      <SearchBar label="Search categories">
        {isAdmin && (
          <button type="button" className="primary" onClick={() => pushParameters({ category: newSkill })}>
            New category
          </button>
        )}
      </SearchBar>
      {loading && <Loading />}
      {data !== undefined && (
        <DataTable
          label="Categories"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          sort="-tools"
          question={query}
          openKey={open}
        />
      )}
      {shown !== undefined && (
        <Panel title={shown.id === '' ? 'New category' : shown.name} parameter="category">
          <SkillForm
            key={shown.id}
            skill={shown}
            isAdmin={isAdmin}
            onDone={() => {
              setOpen('');
              reload();
            }}
          />
        </Panel>
      )}
    </>
  );
}

const emptySkill: Skill = { id: '', name: '', description: '', examples: [], tool_count: 0 };

function SkillForm({ skill, isAdmin, onDone }: { skill: Skill; isAdmin: boolean; onDone: () => void }) {
  const [id, setId] = useState(skill.id);
  const [name, setName] = useState(skill.name);
  const [description, setDescription] = useState(skill.description);
  const [examples, setExamples] = useState(skill.examples.join('\n'));
  const [removing, setRemoving] = useState(false);
  const { running, error, run } = useAction();
  const lines = examples
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await api('PUT', skillPath(id), { name, description, examples: lines });
      say(`The category ${name} was saved. Tools are classified again.`);
      onDone();
    });
  };
  const remove = () =>
    run(async () => {
      await api('DELETE', skillPath(skill.id));
      const { id: _id, tool_count: _tools, ...body } = skill;
      say(`The category ${skill.name} was removed.`, { undo: () => api('PUT', skillPath(skill.id), body) });
      onDone();
    });
  return (
    <form onSubmit={save} aria-label="Category">
      {skill.id === '' && (
        <TextField
          label="ID"
          required
          pattern="[a-z][a-z0-9_\-]*"
          help="a-z, 0-9, - and _"
          value={id}
          onChange={setId}
        />
      )}
      <TextField label="Name" required disabled={!isAdmin} value={name} onChange={setName} />
      <TextField
        label="Description"
        required
        rows={3}
        disabled={!isAdmin}
        help="Its words decide which tools belong to it"
        value={description}
        onChange={setDescription}
      />
      <TextField
        label="Examples"
        rows={5}
        disabled={!isAdmin}
        help="Tasks that belong to it, one per line"
        value={examples}
        onChange={setExamples}
      />
      <Failure error={error} />
      {isAdmin && (
        <div className="actions">
          <button type="submit" className="primary" disabled={running}>
            Save
          </button>
          <button type="button" onClick={() => pushParameters({ category: undefined })}>
            Cancel
          </button>
          {skill.id !== '' && (
            <button type="button" className="quiet" onClick={() => setRemoving(true)}>
              Remove
            </button>
          )}
        </div>
      )}
      {removing && (
        <Confirm
          title={`Remove the category ${skill.name}?`}
          action="Remove"
          onClose={() => setRemoving(false)}
          onConfirm={() => void remove()}
        >
          <p>Its tools are classified again.</p>
        </Confirm>
      )}
    </form>
  );
}
