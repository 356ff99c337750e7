export default async function friends(app) {
  app.get('/', async () => ({ friends: [{ id: 1, name: 'Bo' }] }))
}
