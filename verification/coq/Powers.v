(* The product of profiles is associative and commutative, so T steps that are composed one by one are one power of the
   profile, as the program takes it: T adaptive steps on uniform batches cost at most the power of one step's profile. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Import Integral HockeyStick Profiles Composition Batches Subsampling Triples.
Import ListNotations.
Open Scope R_scope.

(* K composed n times, and then with g. *)
Fixpoint power (K : profile) (n : nat) (g : profile) : profile :=
  match n with O => g | S n' => product K (power K n' g) end.

Lemma power_proper K n g : proper K -> proper g -> proper (power K n g).
Proof. intros PK Pg. induction n; simpl; [ assumption | now apply product_proper ]. Qed.

(** Settles: COMPOSITION. The order of composition does not matter. *)
Theorem product_commutative :
  forall (K f : profile) (y : R), proper K -> proper f -> value (product K f) y = value (product f K) y.
Proof.
  intros K f y PK Pf. rewrite (product_second_form K f) by assumption.
  rewrite (product_first_form f K) by (intros; solve [ now apply Pf | now apply PK ]). reflexivity.
Qed.

(** Settles: COMPOSITION. Nor do brackets. *)
Theorem product_associative :
  forall (K f g : profile) (y : R), proper K -> proper f -> proper g ->
  value (product K (product f g)) y = value (product (product K f) g) y.
Proof.
  intros K f g y PK Pf Pg.
  rewrite (product_second_form (product K f) g) by auto using product_proper.
  rewrite (product_first_form K (product f g))
    by (intros; solve [ now apply PK | now apply (product_proper f g) ]).
  rewrite (lsum_ext (fun a => fst a * value (product f g) (y / snd a))
    (fun a => base g * fst a + lsum (fun b => fst b * (fst a * value f (y / snd a / snd b))) (atoms g))).
  2: { intros a _. rewrite product_second_form by assumption. rewrite Rmult_plus_distr_l, <- lsum_scal.
       f_equal; [ ring | ]. apply lsum_ext; intros; ring. }
  rewrite (lsum_ext (fun b => fst b * value (product K f) (y / snd b))
    (fun b => base K * fst b + lsum (fun a => fst b * (fst a * value f (y / snd a / snd b))) (atoms K))).
  2: { intros b Hb. rewrite product_first_form by (intros; solve [ now apply PK | now apply Pf ]).
       rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ]. apply lsum_ext. intros a Ha.
       destruct PK as (_ & PK & _), Pg as (_ & Pg & _). pose proof (PK a Ha). pose proof (Pg b Hb).
       replace (y / snd b / snd a) with (y / snd a / snd b) by (field; lra). reflexivity. }
  rewrite !lsum_plus, !lsum_scal, lsum_swap.
  destruct PK as (_ & _ & K1), Pg as (_ & _ & g1).
  change (lsum (fun a => fst a) (atoms K)) with (lsum fst (atoms K)).
  change (lsum (fun b => fst b) (atoms g)) with (lsum fst (atoms g)).
  replace (lsum fst (atoms K)) with (1 - base K) by lra. replace (lsum fst (atoms g)) with (1 - base g) by lra. ring.
Qed.

(* A factor in front of a power may be taken inside. *)
Lemma product_into_power K L n g y : proper K -> proper L -> proper g -> 0 <= y ->
  value (product K (power L n g)) y = value (power L n (product K g)) y.
Proof.
  intros PK PL Pg. revert y. induction n as [ | n IH ]; intros y Hy; [ reflexivity | ]. simpl.
  assert (P1 : proper (power L n g)) by now apply power_proper.
  assert (P2 : proper (product K (power L n g))) by now apply product_proper.
  assert (P3 : proper (power L n (product K g))) by (apply power_proper; [ assumption | now apply product_proper ]).
  rewrite product_associative, (product_commutative (product K L)) by auto using product_proper.
  rewrite (product_commutative (power L n g)) by auto using product_proper.
  transitivity (value (product (product L K) (power L n g)) y).
  { rewrite !(product_second_form _ (power L n g)) by auto using product_proper. f_equal. apply lsum_ext. intros b _. f_equal.
    now apply product_commutative. }
  rewrite <- product_associative by assumption.
  rewrite !product_first_form by (intros; solve [ now apply PL | now apply P2 | now apply P3 ]). f_equal.
  apply lsum_ext. intros a Ha. f_equal. apply IH. apply Rmult_le_pos; [ assumption | ].
  left. apply Rinv_0_lt_compat. now apply PL.
Qed.

(** Settles: COMPOSITION, L. T steps composed one by one, last to first or first to last, are one power. *)
Theorem power_splits :
  forall (K g : profile) (m n : nat) (y : R), proper K -> proper g -> 0 <= y ->
  value (power K (m + n) g) y = value (power K m (power K n g)) y /\
  value (power K (S n) g) y = value (power K n (product K g)) y /\
  value (power K (S n) unit_profile) y = value (product (power K n unit_profile) K) y.
Proof.
  intros K g m n y PK Pg Hy. repeat split.
  - induction m as [ | m IH ]; [ reflexivity | ]. simpl. f_equal.
    assert (E : forall m, power K (m + n) g = power K m (power K n g)) by (induction m0; simpl; congruence).
    now rewrite E.
  - now apply product_into_power.
  - simpl. apply product_commutative; [ assumption | ]. apply power_proper; auto using unit_proper.
Qed.

(** Settles: COMPOSITION. Composed releases have a symmetric divergence: H_y(p||q) = 1 - y + y H_{1/y}(q||p), so that a
    bound for y >= 1 of both orders is one for all y. *)
Theorem composed_reversal :
  forall {X : Type} (I : integral X) (T : nat) (y : R) (p q : list X -> X -> R),
  0 < y -> (forall h, density I (p h)) -> (forall h, density I (q h)) ->
  sections I T (joint p) -> sections I T (joint q) -> sections I T (fun h => pos (joint q h - 1 / y * joint p h)) ->
  composed I T y p q = 1 - y + y * composed I T (1 / y) q p.
Proof.
  intros X I T y p q Hy Dp Dq Sp Sq S. unfold composed.
  assert (Mass : forall (u : list X -> X -> R) k h, (forall h, density I (u h)) -> iterated I k h (joint u) = joint u h).
  { intros u k h Du. revert h. induction k as [ | k IH ]; intro h; [ reflexivity | ]. simpl.
    destruct (Du h) as (_ & U1 & U2).
    transitivity (int I (fun x => joint u h * u h x)).
    - symmetry. apply int_ext; [ now apply intg_scal | ]. intro x. now rewrite IH.
    - rewrite int_scal by assumption. rewrite U2. ring. }
  set (f := fun h => 1 * (1 * joint p h + - y * joint q h) + y * pos (joint q h - 1 / y * joint p h)).
  assert (E : (fun h => pos (joint p h - y * joint q h)) = f).
  { apply FunctionalExtensionality.functional_extensionality. intro h. unfold f. rewrite pos_opp, <- pos_scale by lra.
    replace (y * (joint q h - 1 / y * joint p h)) with (- (joint p h - y * joint q h)) by (field; lra). ring. }
  rewrite E. unfold f. rewrite (iterated_lin I T [] 1 y) by (try apply sections_lin; assumption).
  rewrite (iterated_lin I T [] 1 (- y)) by assumption. rewrite !Mass by assumption. simpl joint. ring.
Qed.

(** Settles: L, D, SUBSAMPLING, COMPOSITION. If h bounds what one exchanged record of a batch costs at every y >= 1, and
    the lattice profile K is above the amplified h on both sides of 1 up to tau, then T adaptive steps on batches of m + 1
    of n records cost at most the T-th power of K, and T tau. *)
Theorem accounting_on_batches :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list X -> list A -> X -> R) (h : R -> R)
    (K : profile) (T : nat) (tau : R),
  (m <= length l)%nat -> 0 <= tau ->
  (forall past b, density I (mu past b)) ->
  (forall past b b' x, Permutation b b' -> mu past b x = mu past b' x) ->
  (forall past z a a' B, 1 <= z -> length B = m -> hockey I z (mu past (a :: B)) (mu past (a' :: B)) <= h z) ->
  let q := INR (S m) / INR (S (length l)) in
  proper K -> (forall z, 0 <= z -> pos (1 - z) <= value K z) ->
  (forall z, 1 <= z -> q * h (1 + (z - 1) / q) <= value K z + tau) ->
  (forall z, 0 < z < 1 -> 1 - z + z * (q * h (1 + (1 / z - 1) / q)) <= value K z + tau) ->
  let p := fun r past => on_batch (S m) (r :: l) (mu past) in
  forall z, 0 <= z -> sections I T (fun past => pos (joint (p s) past - z * joint (p s') past)) ->
  composed I T z (p s) (p s') <= value (power K T unit_profile) z + INR T * tau.
Proof.
  intros A X I m s s' l mu h K T tau Hm Htau Dmu Perm Hh q PK HK Up Down p z Hz Sec.
  assert (Dp : forall r past, density I (p r past)) by (intros; apply on_batch_density; [ simpl; lia | auto ]).
  apply (adaptive_composition I T 1 (p s) (p s') (fun _ _ => K) (fun k => power K k unit_profile) tau); auto.
  - intros. apply power_proper; auto using unit_proper.
  - intros y _. simpl. rewrite unit_value. lra.
  - intros. simpl. lra.
  - intros k past _. exists (fun _ => 1). repeat split; [ intros; lra | simpl; lra | ]. intros w Hw. simpl.
    destruct (subsampled_profile I m s s' l (mu past) h Hm) as (Above & Below); auto.
    + intro b. split; apply Dmu.
    + fold q in Above, Below. assert (hockey I w (p s past) (p s' past) <= value K w + tau); [ | lra ].
      destruct (Rle_lt_dec 1 w); eapply Rle_trans; [ apply Above; assumption | now apply Up | apply Below; lra |
        apply Down; lra ].
Qed.
