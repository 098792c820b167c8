// hibernate.java: Hibernate, as docs/applications.md has it.
import java.sql.*;
import java.util.*;
import javax.persistence.*;
import org.hibernate.HibernateException;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.GenericGenerator;
import org.hibernate.cfg.Configuration;
import org.hibernate.dialect.PostgreSQLDialect;
import org.hibernate.engine.SessionImplementor;
import org.hibernate.id.IdentifierGeneratorHelper;
import org.hibernate.id.IntegralDataTypeHolder;
import org.hibernate.id.enhanced.*;

//page
//page > UidPool.java

class Program {
	static final String URL = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
	static Connection connection;

	static void check(String name, boolean passed) {
		System.out.println((passed ? "ok" : "not ok") + " - " + name);
	}

	static long number(String sql) throws SQLException {
		try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
			result.next();
			return result.getLong(1);
		}
	}

	// What an optimizer makes of numbers that this statement draws: 200 ids; into drawn, the numbers.
	static List<Long> ids(String optimizer, String sql, List<Long> drawn) {
		Optimizer made = OptimizerFactory.buildOptimizer(optimizer, Long.class, 50, -1);
		List<Long> ids = new ArrayList<>();
		for (int i = 0; i < 200; i++)
			ids.add((Long) made.generate(new AccessCallback() {
				public IntegralDataTypeHolder getNextValue() {
					try {
						drawn.add(number(sql));
					} catch (SQLException e) {
						throw new HibernateException(e);
					}
					return IdentifierGeneratorHelper.getIntegralDataTypeHolder(Long.class).initialize(drawn.get(drawn.size() - 1));
				}
			}));
		return ids;
	}

	public static void main(String[] arguments) throws Exception {
		connection = DriverManager.getConnection(URL, System.getenv("PGUSER"), "");
		connection.createStatement().execute("CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text);"
			+ "CREATE TABLE reply (id bigint PRIMARY KEY DEFAULT uid_next(), body text)");
		Configuration configuration = new Configuration().addAnnotatedClass(Message.class).addAnnotatedClass(Reply.class)
			.setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
			.setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
			.setProperty("hibernate.connection.url", URL)
			.setProperty("hibernate.connection.username", System.getenv("PGUSER"))
			.setProperty("hibernate.generate_statistics", "true")
			.setProperty("hibernate.jdbc.batch_size", "50");
		check("Hibernate itself would make a sequence",
			Arrays.toString(configuration.generateSchemaCreationScript(new PostgreSQLDialect())).contains("create table message (id  bigserial"));
		SessionFactory factory = configuration.buildSessionFactory();
		Session session = factory.openSession();
		session.beginTransaction();

		//page
		session.getTransaction().commit();
		check("IDENTITY reads the default's id back", number("SELECT count(*) FROM message WHERE body = 'hello' AND id = " + message.id) == 1);
		check("... and 120 rows of the pool are sent in batches", factory.getStatistics().getPrepareStatementCount() < 20);
		Set<Long> ids = new TreeSet<>();
		for (Reply reply : replies)
			ids.add(reply.id);
		check("the pool has an id for each row", ids.size() == 120 && number("SELECT count(*) FROM reply") == 120);
		check("... the same as the table", number("SELECT count(*) FROM reply WHERE id IN (" + ids.toString().replaceAll("[\\[\\]]", "") + ")") == 120);
		check("... larger than those that were drawn before", ids.iterator().next() > message.id);

		// While ids are drawn as fast as the layout has room for, one follows the other; so an id that somebody else
		// draws after the pool was filled tells whether all 50 belong to it.
		boolean reserved = true;
		for (int attempt = 0; attempt < 10; attempt++) {
			number("SELECT count(id) FROM (SELECT uid_next_batch(1000000) AS id) AS d");
			reserved &= (Long) new UidPool().generate((SessionImplementor) session, null) + 50 <= number("SELECT uid_next()");
		}
		check("... and nobody else gets one of them", reserved);

		// uid_reserve(50) is the low end of 50 numbers, and belongs to who called it.
		List<Long> drawn = new ArrayList<>(), used = ids("pooled-lo", "SELECT uid_reserve(50)", drawn);
		boolean own = true;
		for (int i = 0; i < used.size(); i++)
			own &= used.get(i) == drawn.get(i / 50) + i % 50;
		check("pooled-lo over uid_reserve(50) uses what it was given", own && drawn.size() == 4);

		// Over uid_next(), a call gives one id, and the optimizer uses the 50 below it.  Where some of these are of
		// the same tick and worker, the server has issued them before, and to somebody else; so it is while ids
		// are drawn as fast as the layout has room for.
		boolean foreign = false;
		for (int attempt = 0; attempt < 100 && !foreign; attempt++) {
			number("SELECT count(id) FROM (SELECT uid_next_batch(1000000) AS id) AS d");
			drawn.clear();
			used = ids("pooled", "SELECT uid_next()", drawn);
			foreign = used.get(0) >> 12 == drawn.get(0) >> 12 && used.get(0) < drawn.get(0);
		}
		check("pooled over uid_next() uses ids of others", foreign && drawn.size() < 10);
		// A row at a time, where the database makes the id.
		long prepared = factory.getStatistics().getPrepareStatementCount();
		session.beginTransaction();
		for (int i = 0; i < 60; i++)
			session.save(new Message());
		session.getTransaction().commit();
		check("IDENTITY sends a row at a time", factory.getStatistics().getPrepareStatementCount() == prepared + 60);

		// The trigger of docs/readers.md takes ids of a pool that another transaction has filled.
		connection.createStatement().execute("CREATE TRIGGER hold_id BEFORE INSERT OR UPDATE OF id ON reply FOR EACH ROW EXECUTE FUNCTION uid_hold_row('id')");
		session.beginTransaction();
		Reply last = new Reply();
		session.save(last);
		session.flush();
		check("a trigger holds an id of a pool", number("SELECT count(*) FROM uidgen.horizon_holders WHERE id < " + last.id) == 1);
		session.getTransaction().commit();
		session.close();
		factory.close();
		connection.close();
	}
}
