import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { resources } from './resource.ts';
import { applyTheme } from './theme.ts';
import './styles/tokens.css';
import './styles.css';

applyTheme();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <QueryClientProvider client={resources}>
    <App />
  </QueryClientProvider>,
);
